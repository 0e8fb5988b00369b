/*
 * src/core/job_plan.h - what is to be done with a job at a moment: computed, nothing is stored.
 *
 * docs/internals/job.md says what the rules are for.
 */
#ifndef PAWLI_JOB_PLAN_H
#define PAWLI_JOB_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/job.h>
#include <pawl/schedule.h>

/* A job as the scheduler found it. The texts are borrowed. */
typedef struct pawli_job_facts {
    int64_t id;
    const char *schedule;
    const char *zone;
    bool enabled;
    pawl_misfire misfire;
    pawl_overlap overlap;
    int misfire_cap;
    int64_t grace_us;
    int64_t jitter_us;
    pawl_wall anchor;        /* as the next five: PAWL_NEVER if there is none */
    pawl_wall since;         /* the next slot is after this, and after the last */
    pawl_wall next_slot_at;  /* to be computed if there is none */
    pawl_wall last_slot_at;  /* none at or before this is made again */
    pawl_wall planned_at;    /* the clock at the last plan */
    pawl_wall awaited_since; /* when the awaited run was claimed first, or ended without that */
    bool awaits;             /* "from start": no slot until that run has been claimed */
    bool awaited_is_there;
    bool has_waiting; /* runs in line */
} pawli_job_facts;

/*
 * A clock that was set back by more than this is one that was wrong: jobs go by the time it shows
 * now. For less, which is what keeps clocks right, they wait. As in job_due.sql.
 */
#define PAWLI_JOB_REWIND_US INT64_C(300000000)

/*
 * A job with a problem is tried again after this: another zone file may be there, or a limit of the
 * database may be another.
 */
#define PAWLI_JOB_PROBLEM_AGAIN_US INT64_C(3600000000)

/* The most that one look at a job makes; the rest is left to the next one. */
#define PAWLI_JOB_RUNS_MAX 1000

typedef struct pawli_job_plan {
    pawl_wall anchor;
    pawl_wall since;
    pawl_wall next_slot_at; /* PAWL_NEVER: none */
    pawl_wall next_due_at;
    pawl_wall look_at;      /* PAWL_NEVER: when something changes */
    pawl_wall last_slot_at; /* PAWL_NEVER: no slot was made */
    bool rewinds; /* the clock was set back: what was planned for later does not count any more */
    bool still_awaits;
    bool promote; /* whoever is first in line may start */
    /* Slots that are too late: */
    bool skips;
    pawl_wall skip_first;
    pawl_wall skip_last;
    int64_t skip_count;
    bool skip_is_at_least;
    /* Slots that are run, or what the overlap policy says: */
    pawl_wall runs[PAWLI_JOB_RUNS_MAX];
    size_t run_count;
    bool in_line;      /* they wait for each other, instead of being skipped */
    bool awaits;       /* the run is to be awaited */
    char problem[256]; /* "": none */
} pawli_job_plan;

/*
 * Fill in the plan. A schedule or a zone that cannot be read is no failure: the plan says so.
 * PAWL_E_NOMEM.
 */
pawl_status pawli_job_plan_make(const pawli_job_facts *facts, pawl_wall now, pawli_job_plan *plan,
                                pawl_error *err);

/* When the run of a slot is due: jitter by job and slot, not beyond the slot after it. */
pawl_wall pawli_job_due(const pawl_schedule *schedule, int64_t job_id, pawl_wall slot,
                        int64_t jitter_us);

/*
 * The next slot and when it is due, for people: as the scheduler would compute them. PAWL_E_INVALID
 * and others if it cannot.
 */
pawl_status pawli_job_next(const pawli_job_facts *facts, pawl_wall now, pawl_wall *ret_slot,
                           pawl_wall *ret_due, pawl_error *err);

#endif
