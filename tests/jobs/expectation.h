/* tests/jobs/expectation.h - what a scheduler that looks at a job at a moment is to make of it. */
#ifndef PAWL_JOBS_EXPECTATION_H
#define PAWL_JOBS_EXPECTATION_H

#include "job_model.h"

#define EXPECTATION_ENTRIES 1001

typedef struct expectation_entry {
    bool runs;
    bool was_there;         /* recorded before the clock was set back: not again */
    pawl_run_reason reason; /* of a skip */
    pawl_wall first;
    pawl_wall last;
    int64_t occurrences;
} expectation_entry;

typedef struct expectation {
    expectation_entry entries[EXPECTATION_ENTRIES]; /* oldest first */
    size_t count;
    model_runs open; /* as they are afterwards; new ones have no id yet */
    size_t promoted; /* of those that were there */
    pawl_wall since;
    pawl_wall last;
    bool awaits; /* the new run */
} expectation;

/* `read`: the clock when the job was looked at; `now`: when what was decided is written. */
void expectation_make(const model_job *job, pawl_wall read, pawl_wall now, expectation *o);
bool expectation_is_empty(const expectation *o);
/* Entries that are not there yet. */
size_t expectation_to_record(const expectation *o);
void expectation_done(expectation *o);

/*
 * Compare with what was recorded, oldest first: exactly that, or nothing at all. On true the model
 * follows it.
 */
bool expectation_follow(expectation *o, model_job *job, const pawl_run *const *rows, size_t count,
                        finding *wrong);

#endif
