/* include/pawl/job_runs.h - a job's history: what ran, what was skipped, and how it ended.
 *
 * The history is kept for itself: it outlives the messages. It follows a run's message whoever
 * claims, answers, cancels or redrives it: a worker, the library's calls, SQL functions.
 */
#ifndef PAWL_JOB_RUNS_H
#define PAWL_JOB_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/clock.h>
#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/id.h>
#include <pawl/maintenance.h>
#include <pawl/store.h>

PAWL_BEGIN_DECLS

/* The first six are the message's (pawl_state). */
typedef enum pawl_run_state {
    PAWL_RUN_READY = 0,   /* a message that nobody holds: new, or to be tried again */
    PAWL_RUN_RUNNING = 1, /* claimed */
    PAWL_RUN_DONE = 2,
    PAWL_RUN_FAILED = 3, /* all attempts; it may be redriven */
    PAWL_RUN_EXPIRED = 4,
    PAWL_RUN_CANCELLED = 5,
    PAWL_RUN_WAITING = 6, /* for the end of another run: not a message yet */
    PAWL_RUN_SKIPPED = 7  /* never was and never will be */
} pawl_run_state;
#define PAWL_RUN_STATE_COUNT 8

typedef enum pawl_run_reason {
    PAWL_RUN_NO_REASON = 0,
    PAWL_RUN_OVERLAP = 1, /* skipped: another run had not ended */
    PAWL_RUN_MISFIRE = 2  /* skipped: nobody looked in time */
} pawl_run_reason;

/* "ready", "running", "done", ...; "none", "overlap", "misfire". Never NULL. */
PAWL_API const char *pawl_run_state_name(pawl_run_state state);
PAWL_API const char *pawl_run_reason_name(pawl_run_reason reason);

/* Slots of a skip are counted one by one up to this. */
#define PAWL_RUN_SLOTS_MAX 10000

typedef struct pawl_run {
    int64_t id; /* grows with every run and every skip */
    const char *job;
    bool triggered; /* outside the schedule */
    pawl_run_state state;
    pawl_run_reason reason;     /* of a skip */
    pawl_wall scheduled_at;     /* the slot, of a skip the first; if triggered, when that was */
    pawl_wall last_slot_at;     /* of a skip the last one; else the same */
    int64_t slots;              /* how many it stands for: 1, of a skip perhaps more */
    bool slots_is_at_least;     /* there were more than PAWL_RUN_SLOTS_MAX */
    pawl_work_id work_id;       /* of its message; 0 while it waits, and of a skip */
    pawl_message_id message_id; /* the same */
    pawl_wall created_at;
    pawl_wall started_at;   /* claimed for the first time; or PAWL_NEVER, as the next three */
    pawl_wall claimed_at;   /* claimed the last time */
    pawl_wall ended_at;     /* done, failed, expired, cancelled */
    const char *claimed_by; /* who claimed it last; or NULL */
    int attempts;           /* that were begun */
    const char *error;      /* of the last attempt that failed; or NULL */
    const void *output;     /* what the handler left, followed by a zero byte; or NULL */
    size_t output_size;
} pawl_run;

/* An owned list of runs. */
typedef struct pawl_runs pawl_runs;
PAWL_API size_t pawl_runs_count(const pawl_runs *runs);
/* Borrowed from the list; NULL when `index` is out of range. */
PAWL_API const pawl_run *pawl_runs_at(const pawl_runs *runs, size_t index);
PAWL_API void pawl_runs_free(pawl_runs *runs); /* NULL is fine */

/* Which runs. A zeroed filter (PAWL_RUN_FILTER_INIT) means all. */
typedef struct pawl_run_filter {
    size_t size;      /* set by PAWL_RUN_FILTER_INIT, never by hand */
    unsigned states;  /* bit set of 1u << PAWL_RUN_...; 0: any */
    int64_t before;   /* keyset page: only ids below; 0: from the newest */
    int limit;        /* 0: 100; at most 10000 */
    bool with_output; /* off: outputs are left out */
} pawl_run_filter;
#define PAWL_RUN_FILTER_INIT                                                                       \
    {                                                                                              \
        sizeof(pawl_run_filter), 0, 0, 0, false                                                    \
    }

/*
 * The history of a job (NULL: of all), newest first. *ret_next (may be NULL) is the `before` of the
 * next page, or 0 when there is none. One call looks at 10,000 rows at most, so a page may be
 * short, even empty, and have a next one. PAWL_E_NOT_FOUND if there is no such job.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_job_runs(pawl_store *store, const char *job,
                                                   const pawl_run_filter *filter,
                                                   pawl_runs **ret_list, int64_t *ret_next,
                                                   pawl_error *err);
/* One run with its output, as a list of one. PAWL_E_NOT_FOUND if it is not (or no longer) there. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_job_run(pawl_store *store, int64_t run_id,
                                                  pawl_runs **ret_one, pawl_error *err);

/*
 * Maintenance: forget what the jobs do not want to keep (keep_runs, keep_ms); what has not ended
 * is kept. A bounded amount; *ret_scan (may be NULL) counts jobs and says whether there may be
 * more. A worker does it.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_job_clean(pawl_store *store, size_t *ret_removed,
                                                    pawl_scan *ret_scan, pawl_error *err);

PAWL_END_DECLS

#endif
