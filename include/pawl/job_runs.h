/* include/pawl/job_runs.h - the history of jobs: runs and skips, and their results.
 *
 * The history is stored separately and outlives the messages. It follows a run's message whichever
 * way that is claimed, finished, cancelled or retried: by a worker, library calls or SQL functions.
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
#include <pawl/page.h>
#include <pawl/store.h>

PAWL_BEGIN_DECLS

/* The first six are the states of the message (pawl_state). */
typedef enum pawl_run_state {
    PAWL_RUN_READY = 0,   /* a message that is not claimed: new, or waiting for a retry */
    PAWL_RUN_RUNNING = 1, /* claimed */
    PAWL_RUN_DONE = 2,
    PAWL_RUN_FAILED = 3, /* all attempts failed; it can be retried with pawl_outbox_retry() */
    PAWL_RUN_EXPIRED = 4,
    PAWL_RUN_CANCELLED = 5,
    PAWL_RUN_WAITING = 6, /* waiting for another run to end: not a message yet */
    PAWL_RUN_SKIPPED = 7  /* not run */
} pawl_run_state;
#define PAWL_RUN_STATE_COUNT 8

typedef enum pawl_run_reason {
    PAWL_RUN_NO_REASON = 0,
    PAWL_RUN_OVERLAP = 1, /* skipped: another run had not ended */
    PAWL_RUN_MISFIRE = 2  /* skipped: no scheduler ran in time */
} pawl_run_reason;

/* "ready", "running", "done", ...; "none", "overlap", "misfire". Never NULL. */
PAWL_API const char *pawl_run_state_name(pawl_run_state state);
PAWL_API const char *pawl_run_reason_name(pawl_run_reason reason);

/* The occurrences of a skip are counted exactly up to this number. */
#define PAWL_RUN_OCCURRENCES_MAX 10000

/* One run, or one skip. Owned by the library; members are added only at the end. */
typedef struct pawl_run {
    int64_t id; /* increases with every run and every skip */
    const char *job;
    bool triggered; /* triggered outside the schedule */
    pawl_run_state state;
    pawl_run_reason reason;       /* of a skip */
    pawl_wall scheduled_at;       /* the occurrence, for a skip the first; or when triggered */
    pawl_wall last_occurrence_at; /* for a skip the last occurrence; otherwise the same */
    int64_t occurrences;          /* number of occurrences: 1, for a skip possibly more */
    bool occurrences_is_at_least; /* there were more than PAWL_RUN_OCCURRENCES_MAX */
    pawl_work_id work_id;         /* of its message; 0 while it waits, and for a skip */
    pawl_uuid message_id;         /* all zero in the same cases */
    pawl_wall created_at;
    pawl_wall started_at;   /* first claim; or PAWL_TIME_UNSET, as are the next two */
    pawl_wall claimed_at;   /* last claim */
    pawl_wall ended_at;     /* done, failed, expired, cancelled */
    const char *claimed_by; /* owner name of the last claim; or NULL */
    int attempts;           /* attempts started */
    const char *error;      /* of the last failed attempt; or NULL */
    const void *output;     /* the handler's output, followed by a zero byte; or NULL */
    size_t output_size;
} pawl_run;

/* An owned list of runs. */
typedef struct pawl_runs pawl_runs;
PAWL_API size_t pawl_runs_count(const pawl_runs *runs);
/* Borrowed from the list; NULL when `index` is out of range. */
PAWL_API const pawl_run *pawl_runs_at(const pawl_runs *runs, size_t index);
PAWL_API void pawl_runs_free(pawl_runs *runs); /* NULL is allowed */

/* Selects runs. A zeroed filter (PAWL_RUN_FILTER_INIT) selects all. */
typedef struct pawl_run_filter {
    size_t size;      /* set by PAWL_RUN_FILTER_INIT, never by hand */
    unsigned states;  /* bit set of 1u << PAWL_RUN_...; 0: any */
    pawl_page after;  /* where the page begins: page.h */
    int limit;        /* 0: 100; at most 10000 */
    bool with_output; /* off: outputs are omitted */
} pawl_run_filter;
#define PAWL_RUN_FILTER_INIT                                                                       \
    {                                                                                              \
        sizeof(pawl_run_filter), 0, PAWL_PAGE_INIT, 0, false                                       \
    }

/*
 * Lists the history of a job (NULL: of all jobs), newest first. *ret_next: see page.h. One call
 * reads at most 10,000 rows, so a page may be short or even empty although there is a next one.
 * PAWL_E_NOT_FOUND if there is no such job.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_run_list(pawl_store *store, const char *job,
                                                   const pawl_run_filter *filter,
                                                   pawl_runs **ret_list, pawl_page *ret_next,
                                                   pawl_error *err);
/*
 * Returns one run with its output, as a list of one. PAWL_E_NOT_FOUND if it does not exist (any
 * more).
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_run_get(pawl_store *store, int64_t run_id,
                                                  pawl_runs **ret_one, pawl_error *err);

/*
 * Maintenance: deletes history beyond the jobs' keep_runs and keep_ms; runs that have not ended are
 * kept. A bounded amount per call; *ret_scan (may be NULL) counts jobs and says whether there may
 * be more. A worker does this.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_job_clean(pawl_store *store, size_t *ret_removed,
                                                    pawl_scan *ret_scan, pawl_error *err);

PAWL_END_DECLS

#endif
