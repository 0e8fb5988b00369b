/* src/core/job_plan.c - what is to be done with a job at a moment: slots, misfires, the next one.
 */
#include "job_plan.h"

#include <string.h>

#include <pawl/schedule.h>

#include "fail.h"
#include "schedule.h"
#include "text.h"

/* How many slots that are not late one look makes runs of. */
#define RUNS_IN_TIME 100
/* No interval of a job is sensibly longer; a row that was written by hand may have any. */
#define JITTER_MAX_US INT64_C(86400000000)
/* Runs in line: usually an end is heard of; this is for what is not foreseen. */
#define LINE_AGAIN_US INT64_C(60000000)

/* ---- slots ---- */

static bool next_of(const pawl_schedule *schedule, pawl_wall after, pawl_wall *ret_slot)
{
    pawl_occurrence fire;

    if (pawl_schedule_next(schedule, after, &fire, NULL) != PAWL_OK)
        return false;
    *ret_slot = fire.at;
    return true;
}

static bool previous_of(const pawl_schedule *schedule, pawl_wall before, pawl_wall *ret_slot)
{
    pawl_occurrence fire;

    if (pawl_schedule_previous(schedule, before, &fire, NULL) != PAWL_OK)
        return false;
    *ret_slot = fire.at;
    return true;
}

/* The finalizer of splitmix64: every bit of the result depends on every bit of both. */
static uint64_t job_plan_mix(int64_t job_id, pawl_wall slot)
{
    uint64_t x = (uint64_t)slot.us + (uint64_t)job_id * UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

pawl_wall pawli_job_due(const pawl_schedule *schedule, int64_t job_id, pawl_wall slot,
                        int64_t jitter_us)
{
    pawl_wall after;

    if (jitter_us <= 0)
        return slot;
    if (jitter_us > JITTER_MAX_US)
        jitter_us = JITTER_MAX_US;
    if (next_of(schedule, slot, &after) && after.us - slot.us < jitter_us)
        jitter_us = after.us - slot.us;
    return (pawl_wall){slot.us + (int64_t)(job_plan_mix(job_id, slot) % (uint64_t)jitter_us)};
}

/* ---- a look at one job ---- */

typedef struct look {
    const pawli_job_facts *facts;
    const pawl_schedule *schedule;
    pawl_wall now;
    pawli_job_plan *plan;
} look;

static pawl_wall due_of(const look *l, pawl_wall slot)
{
    return pawli_job_due(l->schedule, l->facts->id, slot, l->facts->jitter_us);
}

static bool is_late(const look *l, pawl_wall slot)
{
    return l->now.us - due_of(l, slot).us > l->facts->grace_us;
}

/* The slots from `first` to `last`, one by one while they are few. */
static void job_plan_skip(look *l, pawl_wall first, pawl_wall last)
{
    pawli_job_plan *plan = l->plan;
    pawl_wall slot = first;

    plan->skips = true;
    plan->skip_first = first;
    plan->skip_last = last;
    plan->skip_count = 1;
    while (next_of(l->schedule, slot, &slot) && slot.us <= last.us) {
        if (plan->skip_count == PAWL_RUN_OCCURRENCES_MAX) {
            plan->skip_is_at_least = true;
            break;
        }
        plan->skip_count++;
    }
    plan->last_occurrence_at = last;
}

static void job_plan_run(look *l, pawl_wall slot)
{
    l->plan->runs[l->plan->run_count++] = slot;
    l->plan->last_occurrence_at = slot;
}

/* As many as one look makes. */
static void job_plan_run_from(look *l, pawl_wall first, pawl_wall newest)
{
    pawl_wall slot = first;

    do {
        job_plan_run(l, slot);
    } while (l->plan->run_count < RUNS_IN_TIME && next_of(l->schedule, slot, &slot) &&
             slot.us <= newest.us);
}

/* The newest slot that is due; there is one. */
static pawl_wall newest_due(const look *l, pawl_wall oldest)
{
    pawl_wall slot = oldest;

    if (!previous_of(l->schedule, (pawl_wall){l->now.us + 1}, &slot) || slot.us < oldest.us)
        return oldest;
    if (due_of(l, slot).us > l->now.us && !previous_of(l->schedule, slot, &slot))
        return oldest;
    return slot.us < oldest.us ? oldest : slot;
}

/* The newest `cap`, oldest first; what is before them is skipped. */
static void run_newest(look *l, pawl_wall oldest, pawl_wall newest, int cap)
{
    pawl_wall first = newest, before;

    for (int i = 1; i < cap && first.us > oldest.us; i++)
        if (!previous_of(l->schedule, first, &first))
            break;
    if (first.us < oldest.us)
        first = oldest;
    if (first.us > oldest.us && previous_of(l->schedule, first, &before))
        job_plan_skip(l, oldest, before);
    for (pawl_wall slot = first; slot.us <= newest.us && l->plan->run_count < PAWLI_JOB_RUNS_MAX;) {
        job_plan_run(l, slot);
        if (!next_of(l->schedule, slot, &slot))
            break;
    }
}

/* Those that are late are skipped, the others run. */
static void run_in_time(look *l, pawl_wall oldest, pawl_wall newest)
{
    pawl_wall first, before;

    if (!next_of(l->schedule, (pawl_wall){l->now.us - l->facts->grace_us - 1}, &first) ||
        first.us > newest.us) {
        if (is_late(l, newest)) {
            job_plan_skip(l, oldest, newest);
            return;
        }
        first = newest;
    }
    /* By its jitter the one before may be in time, too. */
    if (first.us > oldest.us && previous_of(l->schedule, first, &before) &&
        before.us >= oldest.us && !is_late(l, before))
        first = before;
    if (first.us > oldest.us && previous_of(l->schedule, first, &before))
        job_plan_skip(l, oldest, before);
    job_plan_run_from(l, first.us < oldest.us ? oldest : first, newest);
}

static void take_slots(look *l, pawl_wall oldest)
{
    const pawli_job_facts *facts = l->facts;
    pawl_wall newest = newest_due(l, oldest);

    if (!is_late(l, oldest)) {
        job_plan_run_from(l, oldest, newest);
    } else if (facts->misfire == PAWL_MISFIRE_SKIP) {
        run_in_time(l, oldest, newest);
    } else {
        int cap = facts->misfire == PAWL_MISFIRE_ALL ? facts->misfire_cap : 1;
        l->plan->in_line = facts->misfire == PAWL_MISFIRE_ALL;
        run_newest(l, oldest, newest, cap < PAWLI_JOB_RUNS_MAX ? cap : PAWLI_JOB_RUNS_MAX);
    }
}

static void set_next(look *l, pawl_wall after)
{
    pawli_job_plan *plan = l->plan;

    plan->next_occurrence_at = plan->next_due_at = plan->look_at = PAWL_TIME_UNSET;
    if (!next_of(l->schedule, after, &plan->next_occurrence_at))
        return;
    plan->next_due_at = plan->look_at = due_of(l, plan->next_occurrence_at);
}

static pawl_wall job_plan_later(pawl_wall a, pawl_wall b)
{
    return a.us > b.us ? a : b;
}

/* "From start" has one slot at a time, and the next when its run has been claimed. */
static void take_slot_from_start(look *l, pawl_wall slot)
{
    pawli_job_plan *plan = l->plan;

    if (l->facts->misfire == PAWL_MISFIRE_SKIP && is_late(l, slot)) {
        plan->skips = true;
        plan->skip_first = plan->skip_last = plan->last_occurrence_at = slot;
        plan->skip_count = 1;
        plan->since = l->now;
        set_next(l, job_plan_later(l->now, slot));
        return;
    }
    job_plan_run(l, slot);
    plan->awaits = true;
    plan->next_occurrence_at = plan->next_due_at = plan->look_at = PAWL_TIME_UNSET;
}

/* Whether the awaited run lets the schedule go on. */
static bool hears_of_awaited(look *l)
{
    if (!l->facts->awaits)
        return true;
    if (l->facts->awaited_is_there && l->facts->awaited_since.us == 0) {
        l->plan->still_awaits = true;
        return false;
    }
    l->plan->since = l->facts->awaited_is_there && l->facts->awaited_since.us <= l->now.us
                         ? l->facts->awaited_since
                         : l->now;
    return true;
}

static void look_at_schedule(look *l)
{
    const pawli_job_facts *facts = l->facts;
    pawli_job_plan *plan = l->plan;
    bool from_start = pawl_schedule_kind_of(l->schedule) == PAWL_SCHEDULE_FROM_START;

    if (!hears_of_awaited(l))
        return;
    pawl_wall last = plan->rewinds ? PAWL_TIME_UNSET : facts->last_occurrence_at;
    plan->next_occurrence_at =
        facts->awaits || plan->rewinds ? PAWL_TIME_UNSET : facts->next_occurrence_at;
    if (plan->next_occurrence_at.us == 0 || plan->next_occurrence_at.us <= last.us)
        set_next(l, job_plan_later(plan->since, last));
    else
        plan->next_due_at = plan->look_at = due_of(l, plan->next_occurrence_at);
    if (plan->next_occurrence_at.us == 0 || plan->next_due_at.us > l->now.us)
        return;
    if (from_start) {
        take_slot_from_start(l, plan->next_occurrence_at);
    } else {
        take_slots(l, plan->next_occurrence_at);
        set_next(l, plan->last_occurrence_at);
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
    size_t kept = sizeof plan->runs; /* large, and counted */

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
        plan->look_at = (pawl_wall){now.us + PAWLI_JOB_PROBLEM_AGAIN_US};
    } else if (facts->enabled) {
        look l = {facts, schedule, now, plan};
        look_at_schedule(&l);
    }
    if (facts->has_waiting && (plan->look_at.us == 0 || plan->look_at.us > now.us + LINE_AGAIN_US))
        plan->look_at = (pawl_wall){now.us + LINE_AGAIN_US};
    return PAWL_OK;
}

pawl_status pawli_job_next(const pawli_job_facts *facts, pawl_wall now, pawl_wall *ret_slot,
                           pawl_wall *ret_due, pawl_error *err)
{
    PAWLI_AUTO(pawl_schedule) schedule = NULL;
    bool rewinds = was_set_back(facts, now);
    pawl_wall since = facts->since.us && !rewinds ? facts->since : now;
    pawl_wall last = rewinds ? PAWL_TIME_UNSET : facts->last_occurrence_at;
    pawl_wall slot = rewinds ? PAWL_TIME_UNSET : facts->next_occurrence_at;
    pawl_status st = read_schedule(facts, facts->anchor.us ? facts->anchor : since, &schedule, err);

    if (st != PAWL_OK)
        return st;
    if (!facts->enabled || facts->awaits ||
        (slot.us == 0 && !next_of(schedule, job_plan_later(since, last), &slot)))
        slot = PAWL_TIME_UNSET;
    *ret_slot = slot;
    *ret_due =
        slot.us ? pawli_job_due(schedule, facts->id, slot, facts->jitter_us) : PAWL_TIME_UNSET;
    return PAWL_OK;
}
