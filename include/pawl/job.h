/* include/pawl/job.h - jobs: recurring work, defined by a schedule and the message it sends.
 *
 * A job is a row in the database: a name, a schedule (pawl/schedule.h), and the message to send.
 * Each time at which the schedule fires is an occurrence. A scheduler
 * (every worker has one, see pawl/worker.h) finds the occurrences that are due and creates a run
 * for each: a message that is claimed, renewed, retried, cancelled and listed like any other. The
 * job's history (pawl/job_runs.h) records the run until it ends. A failed run does not change the
 * schedule.
 *
 * Each occurrence gets one run, however many schedulers there are: also if several of them believe
 * that they are the only one, if one dies at any moment, and if a clock is stepped. The occurrence
 * is recorded and its message is stored in one transaction, and an occurrence at or before the last
 * recorded one is never created again. After a clock that was ahead was set back by more than 5
 * minutes, occurrences are computed from the corrected time; one whose run is still in the history
 * does not run again. Whether the message is handled exactly once is a separate guarantee:
 * docs/guarantees.md.
 *
 * Besides the job's own headers, the message has "pawl-job" (the name), "pawl-run" (the run's id,
 * as text) and, unless it was triggered, "pawl-scheduled-at" (the time of the occurrence, RFC 3339
 * in UTC).
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
#include <pawl/page.h>
#include <pawl/store.h>

PAWL_BEGIN_DECLS

/*
 * What to do with missed occurrences: an occurrence is late when its due time is more than
 * misfire_grace_ms ago. If the oldest occurrence that is due is not late, all that are due run.
 */
typedef enum pawl_misfire {
    PAWL_MISFIRE_ONCE = 0, /* run the latest due occurrence; the others are one skip */
    PAWL_MISFIRE_ALL = 1,  /* run the latest misfire_cap, oldest first; the others are one skip */
    PAWL_MISFIRE_SKIP = 2  /* the late ones are one skip; run the others */
} pawl_misfire;

/* What to do with an occurrence while a run of the job, triggered or scheduled, has not ended. */
typedef enum pawl_overlap {
    PAWL_OVERLAP_SKIP = 0,  /* skip it */
    PAWL_OVERLAP_ALLOW = 1, /* run it concurrently */
    PAWL_OVERLAP_QUEUE = 2  /* run it after they end; at most one waits, others are skipped */
} pawl_overlap;

/* "once", "all", "skip"; "skip", "allow", "queue". Never NULL. */
PAWL_API const char *pawl_misfire_name(pawl_misfire misfire);
PAWL_API const char *pawl_overlap_name(pawl_overlap overlap);

#define PAWL_JOB_NAME_MAX 100 /* characters */

/* The definition of a job. Everything is copied during the call. */
typedef struct pawl_job_definition {
    size_t size;          /* set by PAWL_JOB_DEFINITION_INIT, never by hand */
    const char *name;     /* required: 1 .. 100 characters of UTF-8 */
    const char *schedule; /* required, see pawl/schedule.h */
    const char *zone;     /* an IANA time zone name; NULL: "UTC" */
    const char *topic;    /* required; this and the next eight are as in pawl_message_spec */
    const void *payload;  /* NULL with size 0: empty */
    size_t payload_size;
    pawl_type type;
    const char *destination;
    const char *headers; /* NULL or a JSON object; names that start with "pawl-" are reserved */
    const char *correlation_id;
    int priority;
    int max_attempts; /* of one run; 0: 10 if local; with a destination no limit until it expires */
    pawl_backoff backoff; /* between attempts; all zero: the worker's policy */
    pawl_misfire misfire;
    int misfire_cap;          /* 1 .. 1000 */
    int64_t misfire_grace_ms; /* 0 .. 7 days */
    pawl_overlap overlap;
    int64_t jitter_ms;  /* maximum delay of a run after its occurrence, but before the next one; the
                           delay depends only on the job and the occurrence. 0 .. 1 day */
    int64_t ttl_ms;     /* a run that has not started this long after it was due expires; 0: none if
                           local, 24 h with a destination. At most 100 years */
    int64_t timeout_ms; /* of one attempt: then its handler is cancelled; 0: none. At most 7 days */
    int64_t lease_ms;   /* of a run: 1 s .. 7 days */
    int64_t heartbeat_ms; /* lease renewal interval: 100 ms or more, shorter than the lease */
    int keep_runs; /* history: keep this many of the latest runs, and as many skips; 1 .. 100000 */
    int64_t keep_ms; /* and of those, only what ended within this time; 0: all. At most 100 years */
    bool disabled;   /* create a new job disabled; an existing job keeps its state */
} pawl_job_definition;
#define PAWL_JOB_DEFINITION_INIT                                                                   \
    {                                                                                              \
        sizeof(pawl_job_definition), NULL, NULL, NULL, NULL, NULL, 0, PAWL_TYPE_SIGNAL, NULL,      \
            NULL, NULL, 0, 0, {0, 0, 0}, PAWL_MISFIRE_ONCE, 100, 60000, PAWL_OVERLAP_SKIP, 0, 0,   \
            0, 120000, 30000, 100, 0, false                                                        \
    }

/**
 * Creates the job, or replaces the definition of the job with that name. The whole definition is
 * stored each time. If schedule and zone are unchanged, so is the next occurrence; a changed
 * schedule or zone takes effect from now, and never fires at or before the last recorded
 * occurrence. Existing runs are not changed.
 *
 * "every D" fires D after this call, then every D. "every D from start" also first fires D after
 * this call, then D after each scheduled run was first claimed; while a run waits to be claimed
 * there is no next occurrence.
 *
 * Ownership: nothing of `definition` is kept. *ret_created (may be NULL): the job did not exist.
 * Threads:   any.
 * Blocks:    one round trip, and it reads a small file of time zone data.
 * Durable:   on PAWL_OK. After PAWL_E_IN_DOUBT call it again.
 * Errors:    PAWL_E_INVALID: a schedule that cannot be parsed or never fires (the message gives the
 *            column), an unknown time zone, a value out of range; nothing is stored.
 *            PAWL_E_TOO_LARGE, PAWL_E_BUSY, PAWL_E_UNAVAILABLE, PAWL_E_NOMEM, ...
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_job_put(pawl_store *store,
                                                  const pawl_job_definition *definition,
                                                  bool *ret_created, pawl_error *err);

/* ---- reading ---- */

/* One job. Owned by the library; members are added only at the end. */
typedef struct pawl_job {
    int64_t id;
    const char *name;
    const pawl_job_definition *definition; /* for pawl_job_put(); payload: get only */
    bool enabled;
    pawl_wall created_at; /* for a row inserted manually: when the scheduler first read it */
    pawl_wall updated_at; /* by pawl_job_put(), enable or disable */
    /* The next occurrence, and when its run is due: the same except for jitter. PAWL_TIME_UNSET:
     * disabled, has a problem, or "from start" and its run has not been claimed. */
    pawl_wall next_occurrence_at;
    pawl_wall next_due_at;
    pawl_wall
        last_occurrence_at; /* the last occurrence that was run or skipped; or PAWL_TIME_UNSET */
    int unfinished;         /* runs that have not ended, including waiting ones */
    pawl_wall last_run_at;  /* when the last started run was first claimed; or PAWL_TIME_UNSET */
    pawl_run_state last_run_state; /* its state; only if last_run_at is not PAWL_TIME_UNSET */
    const char *problem;           /* why the scheduler skips a row written manually; or NULL */
} pawl_job;

/* An owned list of jobs. */
typedef struct pawl_jobs pawl_jobs;
PAWL_API size_t pawl_jobs_count(const pawl_jobs *jobs);
/* Borrowed from the list; NULL when `index` is out of range. */
PAWL_API const pawl_job *pawl_jobs_at(const pawl_jobs *jobs, size_t index);
/* The database's clock when the list was read. */
PAWL_API pawl_wall pawl_jobs_now(const pawl_jobs *jobs);
PAWL_API void pawl_jobs_free(pawl_jobs *jobs); /* NULL is allowed */

/* Returns one job in full, as a list of one. PAWL_E_NOT_FOUND if there is none of that name. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_job_get(pawl_store *store, const char *name,
                                                  pawl_jobs **ret_one, pawl_error *err);

/* Selects jobs. A zeroed filter (PAWL_JOB_FILTER_INIT) selects all. */
typedef struct pawl_job_filter {
    size_t size;     /* set by PAWL_JOB_FILTER_INIT, never by hand */
    pawl_page after; /* where the page begins: page.h */
    int limit;       /* 0: 100; at most 10000 */
} pawl_job_filter;
#define PAWL_JOB_FILTER_INIT                                                                       \
    {                                                                                              \
        sizeof(pawl_job_filter), PAWL_PAGE_INIT, 0                                                 \
    }
/*
 * Lists jobs without payloads, sorted by the bytes of their names. *ret_next: see page.h; the page
 * after a full one may be empty.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_job_list(pawl_store *store, const pawl_job_filter *filter,
                                                   pawl_jobs **ret_list, pawl_page *ret_next,
                                                   pawl_error *err);

/* ---- changing ---- */

/*
 * Enables or disables a job. Disabled: no occurrences are created; existing runs continue, and
 * pawl_job_trigger() still works. Enabled again: the next occurrence is computed from now, so
 * occurrences in between do not count as missed. *ret_changed (may be NULL): the state changed.
 * PAWL_E_NOT_FOUND. Durable on PAWL_OK; may be repeated after PAWL_E_IN_DOUBT.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_job_enable(pawl_store *store, const char *name,
                                                     bool *ret_changed, pawl_error *err);
PAWL_API PAWL_MUST_CHECK pawl_status pawl_job_disable(pawl_store *store, const char *name,
                                                      bool *ret_changed, pawl_error *err);

typedef struct pawl_job_trigger_options {
    size_t size; /* set by PAWL_JOB_TRIGGER_OPTIONS_INIT, never by hand */
    bool force;  /* run it even if other runs have not ended, whatever the overlap policy */
} pawl_job_trigger_options;
#define PAWL_JOB_TRIGGER_OPTIONS_INIT                                                              \
    {                                                                                              \
        sizeof(pawl_job_trigger_options), false                                                    \
    }
/* The result of pawl_job_trigger(). */
typedef struct pawl_job_triggered {
    size_t size; /* set by PAWL_JOB_TRIGGERED_INIT, never by hand */
    int64_t run_id;
    pawl_uuid message_id; /* all zero while it waits */
    bool waiting;         /* PAWL_OVERLAP_QUEUE: waits until the others have ended */
} pawl_job_triggered;
#define PAWL_JOB_TRIGGERED_INIT                                                                    \
    {                                                                                              \
        sizeof(pawl_job_triggered), 0, {{0}}, false                                                \
    }

/**
 * Runs a job now, outside its schedule, which does not change. Works for disabled jobs, too.
 *
 * Ownership: `opts` may be NULL: all defaults. *ret_triggered (may be NULL) is written on success.
 * Threads:   any.
 * Blocks:    one round trip.
 * Durable:   on PAWL_OK. After PAWL_E_IN_DOUBT the history shows whether there is a run.
 * Errors:    PAWL_E_BUSY: a run has not ended and the job does not allow overlaps, or one is
 *            already waiting; the message names it. PAWL_E_NOT_FOUND, PAWL_E_INVALID,
 *            PAWL_E_UNAVAILABLE, ...
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_job_trigger(pawl_store *store, const char *name,
                                                      const pawl_job_trigger_options *opts,
                                                      pawl_job_triggered *ret_triggered,
                                                      pawl_error *err);

/*
 * Deletes the job and its history. Runs that have not been started are cancelled: *ret_cancelled
 * (may be NULL) is their number. A run that is being handled continues to its end, without a
 * history. PAWL_E_NOT_FOUND; durable on PAWL_OK.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_job_delete(pawl_store *store, const char *name,
                                                     size_t *ret_cancelled, pawl_error *err);

/* ---- the scheduler ---- */

typedef struct pawl_job_tick_result {
    size_t size;      /* set by PAWL_JOB_TICK_RESULT_INIT, never by hand */
    int64_t examined; /* jobs that were examined */
    int64_t runs;     /* created, including those that wait for another run */
    int64_t skips;    /* recorded; each may cover many occurrences */
    int64_t started;  /* waited for another run and became messages now */
    int64_t problems; /* jobs found to be invalid */
    bool more;        /* more jobs are due than one call processes: call again */
    pawl_wall now;    /* the database's clock */
    pawl_wall next;   /* when a job must be examined next; PAWL_TIME_UNSET: none so far */
} pawl_job_tick_result;
#define PAWL_JOB_TICK_RESULT_INIT                                                                  \
    {                                                                                              \
        sizeof(pawl_job_tick_result), 0, 0, 0, 0, 0, false, {0},                                   \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/**
 * Runs one pass of the scheduler: creates the runs of the jobs that are due and computes their next
 * occurrences. Workers do this continuously; this call is for a process without a worker, and for
 * tests. If nothing is due, nothing is written. The cost depends on the due jobs only, at most 100
 * per call, not on the number of other jobs.
 *
 * Ownership: `ret_result` may be NULL.
 * Threads:   any; any number of processes may call it at the same time.
 * Blocks:    one round trip, and a second one if something is due.
 * Durable:   on PAWL_OK; each due job completely or not at all. After PAWL_E_IN_DOUBT call it
 *            again: it continues from the committed state.
 * Errors:    PAWL_E_BUSY, PAWL_E_UNAVAILABLE, PAWL_E_NOMEM, ... A job that cannot be scheduled is
 *            not an error: its `problem` is set and it is skipped.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_job_tick(pawl_store *store,
                                                   pawl_job_tick_result *ret_result,
                                                   pawl_error *err);

PAWL_END_DECLS

#endif
