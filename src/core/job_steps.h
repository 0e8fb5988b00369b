/*
 * src/core/job_steps.h - the scheduler's decisions about several jobs, stored in one transaction.
 *
 * The steps of a job begin with its move, and take effect only if the move does.
 */
#ifndef PAWLI_JOB_STEPS_H
#define PAWLI_JOB_STEPS_H

#include <pawl/store.h>

#include "arena.h"
#include "job_plan.h"
#include "op.h"

typedef struct pawli_job_steps {
    pawli_value *values;
    size_t count;
    size_t room;
    pawli_arena memory;
} pawli_job_steps;
#define PAWLI_JOB_STEPS_INIT                                                                       \
    {                                                                                              \
        NULL, 0, 0,                                                                                \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
void pawli_job_steps_done(pawli_job_steps *steps);

/* Each returns false when memory runs out. */
bool pawli_job_steps_move(pawli_job_steps *steps, int64_t job_id, int64_t version,
                          pawl_wall planned_at, const pawli_job_plan *plan);
/* Removes the pending events of a run that were processed, `count` of them. */
bool pawli_job_steps_heard(pawli_job_steps *steps, int64_t job_id, int64_t run_id, int64_t count);
bool pawli_job_steps_promote(pawli_job_steps *steps, int64_t job_id);
bool pawli_job_steps_skip(pawli_job_steps *steps, int64_t job_id, const pawli_job_plan *plan);
bool pawli_job_steps_run(pawli_job_steps *steps, int64_t job_id, pawl_wall occurrence,
                         const pawli_job_plan *plan);

/* The result. */
typedef struct pawli_job_done {
    int64_t moved; /* jobs */
    int64_t runs;
    int64_t skips;
    int64_t promoted;
    int64_t started;         /* messages */
    bool skipped_from_start; /* its next occurrence must be computed now */
} pawli_job_done;

/* Adds `other` to `sum`. */
void pawli_job_done_add(pawli_job_done *sum, const pawli_job_done *other);

/* One round trip. */
pawl_status pawli_job_steps_store(const pawli_job_steps *steps, pawl_store *store,
                                  pawli_job_done *ret_done, pawl_error *err);

#endif
