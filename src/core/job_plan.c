/* src/core/job_plan.c - decides what is due for a job at a given time: occurrences, misfires,
 * the next one. */
#include "job_plan.h"

#include <string.h>

#include <pawl/schedule.h>

#include "fail.h"
#include "schedule.h"
#include "text.h"

/* How many on-time occurrences one tick turns into runs. */
#define RUNS_IN_TIME 100
/* No sensible job has a longer interval; a row edited manually may have any. */
#define JITTER_MAX_US INT64_C(86400000000)
/* Recheck interval for queued runs: their end is normally notified, this is the safety net. */
#define LINE_AGAIN_US INT64_C(60000000)

/* ---- occurrences ---- */

static bool next_of(const pawl_schedule *schedule, pawl_wall after, pawl_wall *ret_occurrence)
{
    pawl_occurrence fire;

    if (pawl_schedule_next(schedule, after, &fire, NULL) != PAWL_OK)
        return false;
    *ret_occurrence = fire.at;
    return true;
}

static bool previous_of(const pawl_schedule *schedule, pawl_wall before, pawl_wall *ret_occurrence)
{
    pawl_occurrence fire;

    if (pawl_schedule_previous(schedule, before, &fire, NULL) != PAWL_OK)
        return false;
    *ret_occurrence = fire.at;
    return true;
}

/* The finalizer of splitmix64: every bit of the result depends on every bit of both. */
static uint64_t job_plan_mix(int64_t job_id, pawl_wall occurrence)
{
    uint64_t x = (uint64_t)occurrence.us + (uint64_t)job_id * UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

pawl_wall pawli_job_due(const pawl_schedule *schedule, int64_t job_id, pawl_wall occurrence,
                        int64_t jitter_us)
{
    pawl_wall after;

    if (jitter_us <= 0)
        return occurrence;
    if (jitter_us > JITTER_MAX_US)
        jitter_us = JITTER_MAX_US;
    if (next_of(schedule, occurrence, &after) && after.us - occurrence.us < jitter_us)
        jitter_us = after.us - occurrence.us;
    return (pawl_wall){occurrence.us +
                       (int64_t)(job_plan_mix(job_id, occurrence) % (uint64_t)jitter_us)};
}

/* ---- planning one job ---- */

typedef struct planning {
    const pawli_job_facts *facts;
    const pawl_schedule *schedule;
    pawl_wall now;
    pawli_job_plan *plan;
} planning;

static pawl_wall occurrence_due(const planning *p, pawl_wall occurrence)
{
    return pawli_job_due(p->schedule, p->facts->id, occurrence, p->facts->jitter_us);
}

static bool is_late(const planning *p, pawl_wall occurrence)
{
    return p->now.us - occurrence_due(p, occurrence).us > p->facts->grace_us;
}

/* Skips the occurrences from `first` to `last`, one row each while there are few. */
static void job_plan_skip(planning *p, pawl_wall first, pawl_wall last)
{
    pawli_job_plan *plan = p->plan;
    pawl_wall occurrence = first;

    plan->skips = true;
    plan->skip_first = first;
    plan->skip_last = last;
    plan->skip_count = 1;
    while (next_of(p->schedule, occurrence, &occurrence) && occurrence.us <= last.us) {
        if (plan->skip_count == PAWL_RUN_OCCURRENCES_MAX) {
            plan->skip_is_at_least = true;
            break;
        }
        plan->skip_count++;
    }
    plan->last_occurrence_at = last;
}

static void job_plan_run(planning *p, pawl_wall occurrence)
{
    p->plan->runs[p->plan->run_count++] = occurrence;
    p->plan->last_occurrence_at = occurrence;
}

/* Runs as many as one tick may create. */
static void job_plan_run_from(planning *p, pawl_wall first, pawl_wall newest)
{
    pawl_wall occurrence = first;

    do {
        job_plan_run(p, occurrence);
    } while (p->plan->run_count < RUNS_IN_TIME && next_of(p->schedule, occurrence, &occurrence) &&
             occurrence.us <= newest.us);
}

/* The latest occurrence that is due; the caller has made sure that there is one. */
static pawl_wall newest_due(const planning *p, pawl_wall oldest)
{
    pawl_wall occurrence = oldest;

    if (!previous_of(p->schedule, (pawl_wall){p->now.us + 1}, &occurrence) ||
        occurrence.us < oldest.us)
        return oldest;
    if (occurrence_due(p, occurrence).us > p->now.us &&
        !previous_of(p->schedule, occurrence, &occurrence))
        return oldest;
    return occurrence.us < oldest.us ? oldest : occurrence;
}

/* Runs the latest `cap` occurrences, oldest first, and skips those before. */
static void run_newest(planning *p, pawl_wall oldest, pawl_wall newest, int cap)
{
    pawl_wall first = newest, before;

    for (int i = 1; i < cap && first.us > oldest.us; i++)
        if (!previous_of(p->schedule, first, &first))
            break;
    if (first.us < oldest.us)
        first = oldest;
    if (first.us > oldest.us && previous_of(p->schedule, first, &before))
        job_plan_skip(p, oldest, before);
    for (pawl_wall occurrence = first;
         occurrence.us <= newest.us && p->plan->run_count < PAWLI_JOB_RUNS_MAX;) {
        job_plan_run(p, occurrence);
        if (!next_of(p->schedule, occurrence, &occurrence))
            break;
    }
}

/* Skips the late occurrences and runs the others. */
static void run_in_time(planning *p, pawl_wall oldest, pawl_wall newest)
{
    pawl_wall first, before;

    if (!next_of(p->schedule, (pawl_wall){p->now.us - p->facts->grace_us - 1}, &first) ||
        first.us > newest.us) {
        if (is_late(p, newest)) {
            job_plan_skip(p, oldest, newest);
            return;
        }
        first = newest;
    }
    /* With jitter the previous occurrence may still be on time. */
    if (first.us > oldest.us && previous_of(p->schedule, first, &before) &&
        before.us >= oldest.us && !is_late(p, before))
        first = before;
    if (first.us > oldest.us && previous_of(p->schedule, first, &before))
        job_plan_skip(p, oldest, before);
    job_plan_run_from(p, first.us < oldest.us ? oldest : first, newest);
}

static void take_occurrences(planning *p, pawl_wall oldest)
{
    const pawli_job_facts *facts = p->facts;
    pawl_wall newest = newest_due(p, oldest);

    if (!is_late(p, oldest)) {
        job_plan_run_from(p, oldest, newest);
    } else if (facts->misfire == PAWL_MISFIRE_SKIP) {
        run_in_time(p, oldest, newest);
    } else {
        int cap = facts->misfire == PAWL_MISFIRE_ALL ? facts->misfire_cap : 1;
        p->plan->in_line = facts->misfire == PAWL_MISFIRE_ALL;
        run_newest(p, oldest, newest, cap < PAWLI_JOB_RUNS_MAX ? cap : PAWLI_JOB_RUNS_MAX);
    }
}

static void set_next(planning *p, pawl_wall after)
{
    pawli_job_plan *plan = p->plan;

    plan->next_occurrence_at = plan->next_due_at = plan->next_check_at = PAWL_TIME_UNSET;
    if (!next_of(p->schedule, after, &plan->next_occurrence_at))
        return;
    plan->next_due_at = plan->next_check_at = occurrence_due(p, plan->next_occurrence_at);
}

static pawl_wall job_plan_later(pawl_wall a, pawl_wall b)
{
    return a.us > b.us ? a : b;
}

/* "From start" has one occurrence at a time; the next follows once its run has been claimed. */
static void take_occurrence_from_start(planning *p, pawl_wall occurrence)
{
    pawli_job_plan *plan = p->plan;

    if (p->facts->misfire == PAWL_MISFIRE_SKIP && is_late(p, occurrence)) {
        plan->skips = true;
        plan->skip_first = plan->skip_last = plan->last_occurrence_at = occurrence;
        plan->skip_count = 1;
        plan->since = p->now;
        set_next(p, job_plan_later(p->now, occurrence));
        return;
    }
    job_plan_run(p, occurrence);
    plan->awaits = true;
    plan->next_occurrence_at = plan->next_due_at = plan->next_check_at = PAWL_TIME_UNSET;
}

/* True if the awaited run lets the schedule continue. */
static bool may_schedule_next(planning *p)
{
    if (!p->facts->awaits)
        return true;
    if (p->facts->awaited_is_there && p->facts->awaited_since.us == 0) {
        p->plan->still_awaits = true;
        return false;
    }
    p->plan->since = p->facts->awaited_is_there && p->facts->awaited_since.us <= p->now.us
                         ? p->facts->awaited_since
                         : p->now;
    return true;
}

static void plan_schedule(planning *p)
{
    const pawli_job_facts *facts = p->facts;
    pawli_job_plan *plan = p->plan;
    bool from_start = pawl_schedule_kind_of(p->schedule) == PAWL_SCHEDULE_FROM_START;

    if (!may_schedule_next(p))
        return;
    pawl_wall last = plan->rewinds ? PAWL_TIME_UNSET : facts->last_occurrence_at;
    plan->next_occurrence_at =
        facts->awaits || plan->rewinds ? PAWL_TIME_UNSET : facts->next_occurrence_at;
    if (plan->next_occurrence_at.us == 0 || plan->next_occurrence_at.us <= last.us)
        set_next(p, job_plan_later(plan->since, last));
    else
        plan->next_due_at = plan->next_check_at = occurrence_due(p, plan->next_occurrence_at);
    if (plan->next_occurrence_at.us == 0 || plan->next_due_at.us > p->now.us)
        return;
    if (from_start) {
        take_occurrence_from_start(p, plan->next_occurrence_at);
    } else {
        take_occurrences(p, plan->next_occurrence_at);
        set_next(p, plan->last_occurrence_at);
    }
}

static pawl_status read_schedule(const pawli_job_facts *facts, pawl_wall anchor,
                                 pawl_schedule **ret_schedule, pawl_error *err)
{
    pawl_schedule_options options = PAWL_SCHEDULE_OPTIONS_INIT;

    options.zone = facts->zone;
    options.anchor = anchor;
    return pawl_schedule_parse(facts->schedule, &options, ret_schedule, err);
}

static bool was_set_back(const pawli_job_facts *facts, pawl_wall now)
{
    pawl_wall seen =
        job_plan_later(job_plan_later(facts->planned_at, facts->since), facts->last_occurrence_at);

    return seen.us - now.us > PAWLI_JOB_REWIND_US;
}

static void job_plan_start(const pawli_job_facts *facts, pawl_wall now, pawli_job_plan *plan)
{
    size_t kept = sizeof plan->runs; /* large, so zero only its used part */

    memset(plan, 0, offsetof(pawli_job_plan, runs));
    memset((char *)plan + offsetof(pawli_job_plan, runs) + kept, 0,
           sizeof *plan - offsetof(pawli_job_plan, runs) - kept);
    plan->rewinds = was_set_back(facts, now);
    plan->since = facts->since.us && !plan->rewinds ? facts->since : now;
    plan->anchor = facts->anchor.us ? facts->anchor : plan->since;
    plan->promote = facts->has_waiting;
}

pawl_status pawli_job_plan_make(const pawli_job_facts *facts, pawl_wall now, pawli_job_plan *plan,
                                pawl_error *err)
{
    PAWLI_AUTO(pawl_schedule) schedule = NULL;
    pawl_error why = PAWL_ERROR_INIT;

    job_plan_start(facts, now, plan);
    pawl_status st = read_schedule(facts, plan->anchor, &schedule, &why);
    if (st == PAWL_E_NOMEM)
        return pawli_fail(err, st, "out of memory for a schedule");
    if (st != PAWL_OK) {
        pawli_utf8_clean(why.message, plan->problem, sizeof plan->problem);
        plan->next_check_at = (pawl_wall){now.us + PAWLI_JOB_PROBLEM_AGAIN_US};
    } else if (facts->enabled) {
        planning p = {facts, schedule, now, plan};
        plan_schedule(&p);
    }
    if (facts->has_waiting &&
        (plan->next_check_at.us == 0 || plan->next_check_at.us > now.us + LINE_AGAIN_US))
        plan->next_check_at = (pawl_wall){now.us + LINE_AGAIN_US};
    return PAWL_OK;
}

pawl_status pawli_job_next(const pawli_job_facts *facts, pawl_wall now, pawl_wall *ret_occurrence,
                           pawl_wall *ret_due, pawl_error *err)
{
    PAWLI_AUTO(pawl_schedule) schedule = NULL;
    bool rewinds = was_set_back(facts, now);
    pawl_wall since = facts->since.us && !rewinds ? facts->since : now;
    pawl_wall last = rewinds ? PAWL_TIME_UNSET : facts->last_occurrence_at;
    pawl_wall occurrence = rewinds ? PAWL_TIME_UNSET : facts->next_occurrence_at;
    pawl_status st = read_schedule(facts, facts->anchor.us ? facts->anchor : since, &schedule, err);

    if (st != PAWL_OK)
        return st;
    if (!facts->enabled || facts->awaits ||
        (occurrence.us == 0 && !next_of(schedule, job_plan_later(since, last), &occurrence)))
        occurrence = PAWL_TIME_UNSET;
    *ret_occurrence = occurrence;
    *ret_due = occurrence.us ? pawli_job_due(schedule, facts->id, occurrence, facts->jitter_us)
                             : PAWL_TIME_UNSET;
    return PAWL_OK;
}
