/* src/core/job_steps.c - stores the scheduler's decisions about several jobs in one transaction. */
#include "codes.h"
#include "job_steps.h"

#include <stdlib.h>
#include <string.h>

#include "scope.h"
#include "store_private.h"
#include "platform.h"

/* The row table of job_advance. */
enum {
    STEP,
    JOB_ID,
    SEEN,
    RUN_ID,
    OCCURRENCE,
    LAST_OCCURRENCE,
    DUE,
    NEXT_CHECK_AT,
    SINCE,
    ANCHOR,
    OCCURRENCES,
    SLOTS_MORE,
    IN_LINE,
    AWAITS,
    PROBLEM,
    MESSAGE_ID,
    PLANNED_AT,
    REWINDS,
    COLUMNS
};
static const char *const names[COLUMNS] = {
    "step",    "job_id",        "seen",    "run_id",     "occurrence",  "last_occurrence",
    "due",     "next_check_at", "since",   "anchor",     "occurrences", "occurrences_more",
    "in_line", "awaits",        "problem", "message_id", "planned_at",  "rewinds",
};
static const pawli_type types[COLUMNS] = {
    PAWLI_INT,  PAWLI_INT,  PAWLI_INT,  PAWLI_INT,  PAWLI_TIME, PAWLI_TIME,
    PAWLI_TIME, PAWLI_TIME, PAWLI_TIME, PAWLI_TIME, PAWLI_INT,  PAWLI_BOOL,
    PAWLI_BOOL, PAWLI_BOOL, PAWLI_TEXT, PAWLI_UUID, PAWLI_TIME, PAWLI_BOOL,
};

void pawli_job_steps_done(pawli_job_steps *steps)
{
    pawli_arena_done(&steps->memory);
    free(steps->values);
}

/* Adds a row with only these two columns set; NULL if memory ran out. */
static pawli_value *job_steps_add(pawli_job_steps *steps, int step, int64_t job_id)
{
    if (steps->count == steps->room) {
        size_t room = steps->room ? steps->room * 2 : 16;
        pawli_value *values = realloc(steps->values, room * COLUMNS * sizeof *values);
        if (!values)
            return NULL;
        steps->values = values;
        steps->room = room;
    }
    pawli_value *row = &steps->values[steps->count++ * COLUMNS];
    for (int i = 0; i < COLUMNS; i++)
        row[i] = pawli_null(types[i]);
    row[STEP] = pawli_int(step);
    row[JOB_ID] = pawli_int(job_id);
    row[IN_LINE] = row[AWAITS] = row[REWINDS] = pawli_bool(false);
    return row;
}

static bool add_message_id(pawli_job_steps *steps, pawli_value *row)
{
    pawl_uuid *id = pawli_arena_alloc(&steps->memory, sizeof *id);

    if (!id)
        return false;
    *id = pawl_uuid_new();
    row[MESSAGE_ID] = pawli_uuid(id->bytes);
    return true;
}

bool pawli_job_steps_move(pawli_job_steps *steps, int64_t job_id, int64_t version,
                          pawl_wall planned_at, const pawli_job_plan *plan)
{
    pawli_value *row = job_steps_add(steps, PAWLI_JOB_STEP_MOVE, job_id);

    if (!row)
        return false;
    row[SEEN] = pawli_int(version);
    row[OCCURRENCE] = pawli_time(plan->next_occurrence_at);
    row[LAST_OCCURRENCE] = pawli_time(plan->last_occurrence_at);
    row[DUE] = pawli_time(plan->next_due_at);
    row[NEXT_CHECK_AT] = pawli_time(plan->next_check_at);
    row[SINCE] = pawli_time(plan->since);
    row[ANCHOR] = pawli_time(plan->anchor);
    row[AWAITS] = pawli_bool(plan->still_awaits);
    row[PLANNED_AT] = pawli_time(planned_at);
    row[REWINDS] = pawli_bool(plan->rewinds);
    if (plan->problem[0] == '\0')
        return true;
    const char *problem = pawli_arena_copy(&steps->memory, plan->problem, strlen(plan->problem));
    row[PROBLEM] = pawli_text(problem);
    return problem != NULL;
}

bool pawli_job_steps_heard(pawli_job_steps *steps, int64_t job_id, int64_t run_id, int64_t count)
{
    pawli_value *row = job_steps_add(steps, PAWLI_JOB_STEP_EVENT, job_id);

    if (!row)
        return false;
    row[RUN_ID] = pawli_int(run_id);
    row[SEEN] = pawli_int(count);
    return true;
}

bool pawli_job_steps_promote(pawli_job_steps *steps, int64_t job_id)
{
    pawli_value *row = job_steps_add(steps, PAWLI_JOB_STEP_PROMOTE, job_id);

    return row && add_message_id(steps, row);
}

bool pawli_job_steps_skip(pawli_job_steps *steps, int64_t job_id, const pawli_job_plan *plan)
{
    pawli_value *row = job_steps_add(steps, PAWLI_JOB_STEP_SKIP, job_id);

    if (!row)
        return false;
    row[OCCURRENCE] = pawli_time(plan->skip_first);
    row[LAST_OCCURRENCE] = pawli_time(plan->skip_last);
    row[OCCURRENCES] = pawli_int(plan->skip_count);
    row[SLOTS_MORE] = pawli_bool(plan->skip_is_at_least);
    return true;
}

bool pawli_job_steps_run(pawli_job_steps *steps, int64_t job_id, pawl_wall occurrence,
                         const pawli_job_plan *plan)
{
    pawli_value *row = job_steps_add(steps, PAWLI_JOB_STEP_RUN, job_id);

    if (!row)
        return false;
    row[OCCURRENCE] = pawli_time(occurrence);
    row[IN_LINE] = pawli_bool(plan->in_line);
    row[AWAITS] = pawli_bool(plan->awaits);
    return add_message_id(steps, row);
}

/* ---- storing ---- */

typedef struct storing {
    const pawli_job_steps *steps;
    pawli_job_done done;
} storing;

static void job_steps_on_start(void *context)
{
    ((storing *)context)->done = (pawli_job_done){0};
}

/* Whether this is the run that the job would wait for. */
static bool is_from_start(const pawli_job_steps *steps, int64_t job_id)
{
    for (size_t i = 0; i < steps->count; i++) {
        const pawli_value *row = &steps->values[i * COLUMNS];
        if (row[STEP].as.number == PAWLI_JOB_STEP_RUN && row[JOB_ID].as.number == job_id)
            return row[AWAITS].as.number != 0;
    }
    return false;
}

static pawl_status job_steps_on_row(void *context, const pawli_row *row, pawl_error *err)
{
    storing *s = context;
    pawli_job_done *done = &s->done;
    int64_t detail = pawli_row_int(row, 2);

    (void)err;
    switch (pawli_row_int(row, 0)) {
    case PAWLI_JOB_STEP_MOVE:
        done->moved++;
        break;
    case PAWLI_JOB_STEP_SKIP:
        done->skips++;
        break;
    case PAWLI_JOB_STEP_RUN:
        if (detail == PAWL_RUN_SKIPPED) {
            done->skips++;
            done->skipped_from_start |= is_from_start(s->steps, pawli_row_int(row, 1));
        } else {
            done->runs++;
        }
        break;
    default:
        done->started++;
        done->promoted += detail == PAWLI_JOB_STEP_PROMOTE;
        break;
    }
    return PAWL_OK;
}

void pawli_job_done_add(pawli_job_done *sum, const pawli_job_done *other)
{
    sum->moved += other->moved;
    sum->runs += other->runs;
    sum->skips += other->skips;
    sum->promoted += other->promoted;
    sum->started += other->started;
    sum->skipped_from_start |= other->skipped_from_start;
}

pawl_status pawli_job_steps_store(const pawli_job_steps *steps, pawl_store *store,
                                  pawli_job_done *ret_done, pawl_error *err)
{
    storing s = {.steps = steps};
    pawli_rows rows = {steps->count, COLUMNS, names, types, steps->values};
    /* a mark for the jobs moved by this call, never 0 */
    pawli_param params[] = {{"tick", pawli_int((int64_t)(pawli_random_u64() >> 1) | 1)}};
    pawli_op op = {
        .sql = PAWLI_SQL_JOB_ADVANCE,
        .writes = true,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .rows = &rows,
        .on_row = job_steps_on_row,
        .on_start = job_steps_on_start,
        .context = &s,
    };
    pawl_status st = pawli_store_write(store, &op, err);

    if (st == PAWL_OK)
        *ret_done = s.done;
    return st;
}
