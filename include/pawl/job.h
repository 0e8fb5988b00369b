/* include/pawl/job.h - work that recurs: a schedule, and the message that it sends each time.
 *
 * A job is a row in the database: a name, a schedule (pawl/schedule.h), and what to send. Each time
 * at which the schedule fires is a slot. A scheduler (every worker has one, see pawl/worker.h)
 * looks for slots that are due and makes a run of each: a message, claimed, renewed, retried,
 * cancelled and listed like any other, which the job's history (pawl/job_runs.h) follows to its
 * end. A run that fails does not move the schedule.
 *
 * Each slot gets one run, however many schedulers there are, also if several believe that they are
 * the only one, if one dies at any moment, and if a clock is stepped. The slot is recorded and its
 * message is stored in one transaction, and a slot at or before the last one is never made again.
 * After a clock that was ahead was set back by more than 5 minutes, slots are computed from the
 * time that it shows; one whose run is still in the history does not run again. Whether the message
 * is handled once is another promise: docs/guarantees.md.
 *
 * The message carries, besides the job's own headers, "pawl-job" (the name), "pawl-run" (the run's
 * id, as text) and, unless it was triggered, "pawl-scheduled-at" (the slot, RFC 3339 in UTC).
 */
#ifndef PAWL_JOB_H
#define PAWL_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/backoff.h>
#include <pawl/clock.h>
#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/id.h>
#include <pawl/job_runs.h>
#include <pawl/message.h>
#include <pawl/store.h>

PAWL_BEGIN_DECLS

/*
 * What becomes of slots that nobody looked at in time: a slot is late when its due time is more
 * than misfire_grace_ms ago. If the oldest slot that is due is not late, all that are due run.
 */
typedef enum pawl_misfire {
    PAWL_MISFIRE_ONCE = 0, /* the newest slot that is due runs, the others are one skip */
    PAWL_MISFIRE_ALL = 1,  /* the newest misfire_cap run, oldest first; older ones are one skip */
    PAWL_MISFIRE_SKIP = 2  /* those that are late are one skip; the others run */
} pawl_misfire;

/* What becomes of a slot while a run of the job has not ended, be it triggered or scheduled. */
typedef enum pawl_overlap {
    PAWL_OVERLAP_SKIP = 0,  /* it is skipped */
    PAWL_OVERLAP_ALLOW = 1, /* it runs beside the others */
    PAWL_OVERLAP_QUEUE =
        2 /* it waits until they have ended; one waits at most, others are skipped */
} pawl_overlap;

/* "once", "all", "skip"; "skip", "allow", "queue". Never NULL. */
PAWL_API const char *pawl_misfire_name(pawl_misfire misfire);
PAWL_API const char *pawl_overlap_name(pawl_overlap overlap);

#define PAWL_JOB_NAME_MAX 100 /* characters */

/* A job as it is asked for. Everything is copied during the call. */
typedef struct pawl_job_definition {
    size_t size;          /* set by PAWL_JOB_DEFINITION_INIT, never by hand */
    const char *name;     /* required: 1 .. 100 characters of UTF-8 */
    const char *schedule; /* required, see pawl/schedule.h */
    const char *zone;     /* a name of the IANA database; NULL: "UTC" */
    const char *topic;    /* required; this and the next eight as in pawl_outgoing */
    const void *payload;  /* NULL with size 0: empty */
    size_t payload_size;
    pawl_type type;
    const char *destination;
    const char *headers; /* NULL or a JSON object; names with "pawl-" in front are the library's */
    const char *correlation_id;
    int priority;
    int max_attempts;     /* of one run; 0: 10 if local, with a destination until it expires */
    pawl_backoff backoff; /* between them; all zero: the worker's policy */
    pawl_misfire misfire;
    int misfire_cap;          /* 1 .. 1000 */
    int64_t misfire_grace_ms; /* 0 .. 7 days */
    pawl_overlap overlap;
    int64_t jitter_ms;  /* a run is due up to so much after its slot, but before the next one; how
                           much depends on job and slot only. 0 .. 1 day */
    int64_t ttl_ms;     /* a run that nobody has begun with so long after it was due expires; 0:
                           none if local, 24 h with a destination. At most 100 years */
    int64_t timeout_ms; /* of one attempt: its handler is cancelled then; 0: none. At most 7 days */
    int64_t lease_ms;   /* of a run: 1 s .. 7 days */
    int64_t heartbeat_ms; /* how often the worker renews it: 100 ms or more, below the lease */
    int keep_runs;        /* history: the newest so many runs, and as many skips; 1 .. 100000 */
    int64_t keep_ms;      /* and of those, what ended within this time; 0: any. At most 100 years */
    bool disabled;        /* a new job is disabled; one that exists stays as it is */
} pawl_job_definition;
#define PAWL_JOB_DEFINITION_INIT                                                                   \
    {                                                                                              \
        sizeof(pawl_job_definition), NULL, NULL, NULL, NULL, NULL, 0, PAWL_TYPE_SIGNAL, NULL,      \
            NULL, NULL, 0, 0, {0, 0, 0}, PAWL_MISFIRE_ONCE, 100, 60000, PAWL_OVERLAP_SKIP, 0, 0,   \
            0, 120000, 30000, 100, 0, false                                                        \
    }

/**
 * Create the job, or change it if there is one of that name. All of the definition is stored, each
 * time. The same schedule and zone keep the next slot; another schedule or zone is computed from
 * now on, and never fires at or before the last slot that was made. Runs that exist stay as they
 * are.
 *
 * "every D" fires D after this call, then every D. "every D from start" does so for the first time,
 * then D after each scheduled run was claimed for the first time; while one waits to be claimed
 * there is no next slot.
 *
 * Ownership: nothing of `definition` is kept. *ret_created (may be NULL): there was none before.
 * Threads:   any.
 * Blocks:    one round trip, and a small file of the time zone data is read.
 * Durable:   on PAWL_OK. PAWL_E_IN_DOUBT is resolved by calling it again.
 * Errors:    PAWL_E_INVALID: a schedule that cannot be read or never fires (the message says the
 *            column), an unknown time zone, a value out of range; nothing is stored.
 *            PAWL_E_TOO_LARGE, PAWL_E_BUSY, PAWL_E_UNAVAILABLE, PAWL_E_NOMEM, ...
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_job_put(pawl_store *store,
                                                  const pawl_job_definition *definition,
                                                  bool *ret_created, pawl_error *err);

/* ---- looking ---- */

typedef struct pawl_job {
    int64_t id;
    const char *name;
    const pawl_job_definition *definition; /* could be put again as it is; payload: get only */
    bool enabled;
    pawl_wall created_at; /* of a row that was inserted by hand: when it was first looked at */
    pawl_wall updated_at; /* by pawl_job_put(), enable or disable */
    /* The next slot, and when its run is due: the same but for jitter. PAWL_NEVER: disabled, has a
     * problem, or "from start" and its run has not been claimed. */
    pawl_wall next_slot_at;
    pawl_wall next_due_at;
    pawl_wall last_slot_at; /* the last slot that was made a run or skipped; or PAWL_NEVER */
    int unfinished;         /* runs that have not ended; those that wait in line, too */
    pawl_wall last_run_at;  /* when the last run that was begun was claimed first; or PAWL_NEVER */
    pawl_run_state last_run_state; /* how it is; only if last_run_at is not PAWL_NEVER */
    const char
        *problem; /* why the scheduler passes it over: a row that was written by hand; or NULL
                   */
} pawl_job;

/* An owned list of jobs. */
typedef struct pawl_jobs pawl_jobs;
PAWL_API size_t pawl_jobs_count(const pawl_jobs *jobs);
/* Borrowed from the list; NULL when `index` is out of range. */
PAWL_API const pawl_job *pawl_jobs_at(const pawl_jobs *jobs, size_t index);
/* The database's clock when they were read. */
PAWL_API pawl_wall pawl_jobs_now(const pawl_jobs *jobs);
PAWL_API void pawl_jobs_free(pawl_jobs *jobs); /* NULL is fine */

/* One job, whole, as a list of one. PAWL_E_NOT_FOUND if there is none of that name. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_job_get(pawl_store *store, const char *name,
                                                  pawl_jobs **ret_one, pawl_error *err);

/* Which jobs. A zeroed filter (PAWL_JOB_FILTER_INIT) means all. */
typedef struct pawl_job_filter {
    size_t size;       /* set by PAWL_JOB_FILTER_INIT, never by hand */
    const char *after; /* keyset page: only names after this one; NULL: from the first */
    int limit;         /* 0: 100; at most 10000 */
} pawl_job_filter;
#define PAWL_JOB_FILTER_INIT                                                                       \
    {                                                                                              \
        sizeof(pawl_job_filter), NULL, 0                                                           \
    }
/* By name, byte by byte, without payloads. A full page may have a next one: after its last name. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_job_list(pawl_store *store, const pawl_job_filter *filter,
                                                   pawl_jobs **ret_list, pawl_error *err);

/* ---- changing ---- */

/*
 * Disabled: no slot is made any more; runs that exist go on, and pawl_job_trigger() still works.
 * Enabled again: the next slot is computed from now, so the time in between is no misfire.
 * *ret_changed (may be NULL): it was not so before. PAWL_E_NOT_FOUND. Durable on PAWL_OK; may be
 * repeated after PAWL_E_IN_DOUBT.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_job_enable(pawl_store *store, const char *name,
                                                     bool *ret_changed, pawl_error *err);
PAWL_API PAWL_MUST_CHECK pawl_status pawl_job_disable(pawl_store *store, const char *name,
                                                      bool *ret_changed, pawl_error *err);

typedef struct pawl_job_trigger_options {
    size_t size; /* set by PAWL_JOB_TRIGGER_OPTIONS_INIT, never by hand */
    bool force;  /* beside runs that have not ended, whatever the job says of overlaps */
} pawl_job_trigger_options;
#define PAWL_JOB_TRIGGER_OPTIONS_INIT                                                              \
    {                                                                                              \
        sizeof(pawl_job_trigger_options), false                                                    \
    }
typedef struct pawl_job_triggered {
    int64_t run_id;
    pawl_message_id message_id; /* all zero while it waits in line */
    bool waiting;               /* PAWL_OVERLAP_QUEUE: until the others have ended */
} pawl_job_triggered;

/**
 * Run a job now, outside its schedule, which does not move; also a disabled one.
 *
 * Ownership: `opts` may be NULL: all defaults. *ret_triggered (may be NULL) is written on success.
 * Threads:   any.
 * Blocks:    one round trip.
 * Durable:   on PAWL_OK. After PAWL_E_IN_DOUBT the history tells whether there is a run.
 * Errors:    PAWL_E_BUSY: a run has not ended and the job does not allow overlaps, or one waits in
 *            line already; the message names it. PAWL_E_NOT_FOUND, PAWL_E_INVALID,
 *            PAWL_E_UNAVAILABLE, ...
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_job_trigger(pawl_store *store, const char *name,
                                                      const pawl_job_trigger_options *opts,
                                                      pawl_job_triggered *ret_triggered,
                                                      pawl_error *err);

/*
 * Remove the job and its history. Its runs that nobody has begun with are cancelled: *ret_cancelled
 * (may be NULL) counts them. One that is being handled goes on to its end, without a history.
 * PAWL_E_NOT_FOUND; durable on PAWL_OK.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_job_delete(pawl_store *store, const char *name,
                                                     size_t *ret_cancelled, pawl_error *err);

/* ---- the scheduler ---- */

typedef struct pawl_job_tick_result {
    size_t size;      /* set by PAWL_JOB_TICK_RESULT_INIT, never by hand */
    int64_t looked;   /* jobs that were looked at */
    int64_t runs;     /* made, those that have to wait in line too */
    int64_t skips;    /* recorded; each may stand for many slots */
    int64_t started;  /* had waited in line, and are messages now */
    int64_t problems; /* jobs that were found to be unusable */
    bool more;        /* more jobs are due than one call takes: call again */
    pawl_wall now;    /* the database's clock */
    pawl_wall next;   /* when the next job has to be looked at; PAWL_NEVER: none so far */
} pawl_job_tick_result;
#define PAWL_JOB_TICK_RESULT_INIT                                                                  \
    {                                                                                              \
        sizeof(pawl_job_tick_result), 0, 0, 0, 0, 0, false, {0},                                   \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/**
 * Look at the jobs that are due, make their runs, and set their next slots: what a worker does all
 * the time, for a process without one, and for tests. Nothing due writes nothing. Costs what the
 * due jobs cost, 100 at most, however many others there are.
 *
 * Ownership: `ret_result` may be NULL.
 * Threads:   any; any number of processes may do it at the same time.
 * Blocks:    one round trip, and a second one if something is due.
 * Durable:   on PAWL_OK; each job that was due as a whole or not at all. After PAWL_E_IN_DOUBT the
 *            next call finds out.
 * Errors:    PAWL_E_BUSY, PAWL_E_UNAVAILABLE, PAWL_E_NOMEM, ... A job that cannot be scheduled is
 * no error: it gets its `problem` and is passed over.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_job_tick(pawl_store *store,
                                                   pawl_job_tick_result *ret_result,
                                                   pawl_error *err);

PAWL_END_DECLS

#endif
