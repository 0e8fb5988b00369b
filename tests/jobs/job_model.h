/*
 * tests/jobs/job_model.h - what jobs should do, written down without looking at the SQL.
 *
 * It goes by pawl_schedule_next() alone, occurrence after occurrence from the moment a schedule
 * began to count, and by lists instead of indexes. expectation.h says what a scheduler may do with
 * a job at a moment.
 */
#ifndef PAWL_JOB_MODEL_H
#define PAWL_JOB_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/pawl.h>

#include "finding.h"

#define MODEL_KEEPS_ALL 100000 /* keep_runs: more than a month has */

/* A run that has not ended. */
typedef struct model_run {
    int64_t id;      /* 0: predicted, not seen yet */
    int64_t work_id; /* its message, once it is known */
    bool waits;      /* in line: not a message */
    bool started;    /* was claimed once */
    bool promoted;   /* predicted: it has waited, and starts now */
} model_run;

typedef struct model_runs {
    model_run *list; /* oldest first */
    size_t count;
    size_t room;
} model_runs;

/* An entry of the history, by its first occurrence. */
typedef struct model_entry {
    pawl_wall occurrence;
    bool skipped;
} model_entry;

typedef struct model_job {
    char name[32];
    bool exists;
    bool enabled;
    bool had_ttl;  /* runs of it may expire */
    bool lax_line; /* its policy was changed while runs waited: they start within a minute, not at
                      once */
    int64_t id;
    int64_t version; /* counts what changes what a scheduler may do */
    pawl_job_definition asked;
    pawl_schedule *schedule;
    pawl_wall anchor;
    pawl_wall since; /* occurrences are after this, and after the last */
    pawl_wall last;  /* or PAWL_TIME_UNSET */
    bool from_start;
    int64_t awaited; /* the run whose start is waited for; 0: none */
    pawl_wall awaited_since;
    bool awaited_is_known; /* the scheduler has planned by it */
    model_runs open;
    /* Since the schedule began to count: the occurrences that were recorded, to be compared at its
     * end.
     */
    pawl_wall epoch;
    pawl_wall *made;
    size_t made_count;
    size_t made_room;
    /* All that was recorded and not taken back: it is not recorded again when its time comes again.
     */
    model_entry *history;
    size_t history_count;
    size_t history_room;
    bool forgets; /* it had a short history: entries may be gone */
} model_job;

void model_job_free(model_job *job);
void model_runs_add(model_runs *runs, model_run run);
size_t model_runs_waiting(const model_runs *runs);

/* What a successful call does. `now` is the database's clock. */
void model_put(model_job *job, const pawl_job_definition *asked, pawl_wall now, finding *wrong);
void model_switch(model_job *job, bool enabled, pawl_wall now, finding *wrong);
void model_triggered(model_job *job, const pawl_job_triggered *triggered);
void model_deleted(model_job *job, finding *wrong);
/* Whether pawl_job_trigger() without force is to answer PAWL_E_BUSY. */
bool model_trigger_is_busy(const model_job *job);

/* A run was claimed: false if that was another message than before. It ended. Nothing, if the job
 * does not know it. */
bool model_claimed(model_job *job, int64_t run_id, int64_t work_id, pawl_wall now);
void model_ended(model_job *job, int64_t run_id, pawl_wall now);

/* The occurrence after `after`; PAWL_TIME_UNSET: none. And when its run is due. */
pawl_wall model_next(const model_job *job, pawl_wall after);
pawl_wall model_due(const model_job *job, pawl_wall occurrence);
/* Slots are counted from here; false: none until a run has been claimed. */
bool model_base(const model_job *job, pawl_wall *ret_after);

/*
 * The clock was set back: by `read` the job was planned more than five minutes in the future. It
 * goes by the new clock: the next occurrence is the first after it; of the history what ran stays,
 * and what was skipped and is still to come does not. `now`: when that is written.
 */
bool model_is_ahead(const model_job *job, pawl_wall planned, pawl_wall read);
void model_rewind(model_job *job, pawl_wall read, pawl_wall now, finding *wrong);
/*
 * A look at `read` that saw the awaited start was written: a start that is later by its clock is
 * taken for now. Once it is known it stays, as long as the job is not rewound.
 */
void model_heard(model_job *job, pawl_wall read);
void model_recorded(model_job *job, pawl_wall occurrence, bool skipped);
bool model_has(const model_job *job, pawl_wall occurrence);
void model_forget(model_job *job, pawl_wall occurrence);

/* A occurrence was made a run or skipped. */
void model_made(model_job *job, pawl_wall occurrence);
/* Since the epoch: every occurrence once, in order, up to the last that was made. */
void model_check_epoch(model_job *job, finding *wrong);

#endif
