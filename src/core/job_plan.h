/*
 * src/core/job_plan.h - what to do with a job at a given time: computed only, nothing is stored.
 *
 * docs/internals/job.md explains the rules.
 */
#ifndef PAWLI_JOB_PLAN_H
#define PAWLI_JOB_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/job.h>
#include <pawl/schedule.h>

/* A job as the scheduler read it. The strings are borrowed. */
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
    pawl_wall anchor;             /* this and the next five: PAWL_TIME_UNSET if there is none */
    pawl_wall since;              /* the next occurrence is after this, and after the last */
    pawl_wall next_occurrence_at; /* to be computed if there is none */
    pawl_wall last_occurrence_at; /* no occurrence at or before this is created again */
    pawl_wall planned_at;         /* the clock at the last plan */
    pawl_wall awaited_since; /* when the awaited run was first claimed, or ended without that */
    bool awaits;             /* "from start": no occurrence until that run has been claimed */
    bool awaited_is_there;
    bool has_waiting; /* runs that wait for another run */
} pawli_job_facts;

/*
 * A clock that was set back by more than this had been wrong: jobs use its current time. After a
 * smaller step, as made by clock synchronization, they wait. As in the statement job_due.
 */
#define PAWLI_JOB_REWIND_US INT64_C(300000000)

/*
 * A job with a problem is tried again after this: another zone file may have been installed, or a
 * limit of the database may have changed.
 */
#define PAWLI_JOB_PROBLEM_AGAIN_US INT64_C(3600000000)

/* The maximum number of runs that one pass creates for a job; the rest is left to the next pass. */
#define PAWLI_JOB_RUNS_MAX 1000

typedef struct pawli_job_plan {
    pawl_wall anchor;
    pawl_wall since;
    pawl_wall next_occurrence_at; /* PAWL_TIME_UNSET: none */
    pawl_wall next_due_at;
    pawl_wall
        next_check_at; /* when to examine the job next; PAWL_TIME_UNSET: when something changes */
    pawl_wall last_occurrence_at; /* PAWL_TIME_UNSET: no occurrence was created */
    bool rewinds;                 /* the clock was set back: what was planned for later is void */
    bool still_awaits;
    bool promote; /* the first waiting run may start */
    /* Occurrences that are too late: */
    bool skips;
    pawl_wall skip_first;
    pawl_wall skip_last;
    int64_t skip_count;
    bool skip_is_at_least;
    /* Occurrences to run, subject to the overlap policy: */
    pawl_wall runs[PAWLI_JOB_RUNS_MAX];
    size_t run_count;
    bool in_line;      /* they wait for each other instead of being skipped */
    bool awaits;       /* the run must be awaited */
    char problem[256]; /* "": none */
} pawli_job_plan;

/*
 * Fills in the plan. A schedule or a zone that cannot be parsed is not a failure: the plan has a
 * problem then. PAWL_E_NOMEM.
 */
pawl_status pawli_job_plan_make(const pawli_job_facts *facts, pawl_wall now, pawli_job_plan *plan,
                                pawl_error *err);

/*
 * When the run of an occurrence is due: jitter depends on job and occurrence, and does not exceed
 * the next occurrence.
 */
pawl_wall pawli_job_due(const pawl_schedule *schedule, int64_t job_id, pawl_wall occurrence,
                        int64_t jitter_us);

/*
 * The next occurrence and when it is due, for display: as the scheduler would compute them.
 * PAWL_E_INVALID and others if it cannot.
 */
pawl_status pawli_job_next(const pawli_job_facts *facts, pawl_wall now, pawl_wall *ret_occurrence,
                           pawl_wall *ret_due, pawl_error *err);

#endif
