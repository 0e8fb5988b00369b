/* tests/jobs/simulation.c - the adversary: who ticks, who is killed, where the clock goes, who
 * works. */
#include "simulation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue_fixture.h"
#include "prng.h"
#include "test.h"

#define MONTH_MS (31 * DAY_MS)

int simulation_dice(simulation *p, int sides)
{
    return (int)prng_below(&p->random, (size_t)sides);
}

pawl_wall simulation_now(simulation *p)
{
    pawl_wall now = PAWL_TIME_UNSET;

    if (pawl_store_now(fixture_store(p->f), &now, NULL) != PAWL_OK)
        finding_say(&p->wrong, "the clock cannot be read");
    if (now.us > p->latest.us)
        p->latest = now;
    return now;
}

/* ---- jobs ---- */

static const struct {
    const char *schedule;
    const char *zone;
} timetable[] = {
    {"*/15 * * * *", "UTC"},
    {"30 2 * * *", "Europe/Berlin"},
    {"0 30 1 * * *", "America/New_York"},
    {"*/20 * * * *", "Australia/Lord_Howe"},
    {"0 0 1 * *", "Asia/Kathmandu"},
    {"15 10 L * ?", "America/St_Johns"},
    {"0 9 * * MON-FRI", "Asia/Tokyo"},
    {"@hourly", "America/St_Johns"},
    {"every 7m", "UTC"},
    {"every 1h30m", "UTC"},
    {"every 2h from start", "UTC"},
    {"every 25m from start", "UTC"},
    {"0 3 * * SUNL", "Europe/London"},
    {"5,35 1-3 * * *", "Europe/Dublin"},
    {"0 */6 * * *", "Pacific/Apia"},
    {"45 23 * * *", "Africa/Casablanca"},
    {"*/10 0-4 * * SUN", "America/Chicago"},
    {"every 1d from start", "UTC"},
};

pawl_job_definition simulation_some_definition(simulation *p, const model_job *job, int which)
{
    static const int caps[] = {1, 3, 100};
    static const int64_t graces_ms[] = {0, MINUTE_MS, HOUR_MS, DAY_MS};
    pawl_job_definition asked = PAWL_JOB_DEFINITION_INIT;

    asked.name = job->name;
    asked.schedule = timetable[(size_t)which % COUNT_OF(timetable)].schedule;
    asked.zone = timetable[(size_t)which % COUNT_OF(timetable)].zone;
    asked.topic = "jobs";
    asked.misfire = (pawl_misfire)simulation_dice(p, 3);
    asked.misfire_cap = caps[simulation_dice(p, 3)];
    asked.misfire_grace_ms = graces_ms[simulation_dice(p, 4)];
    asked.overlap = (pawl_overlap)simulation_dice(p, 3);
    asked.jitter_ms = simulation_dice(p, 3) ? 0 : 5 * MINUTE_MS;
    asked.ttl_ms = simulation_dice(p, 6) ? 0 : HOUR_MS;
    asked.max_attempts = 3;
    /* What "from start" waits for must stay known. */
    asked.keep_runs =
        simulation_dice(p, 4) || strstr(asked.schedule, "start") ? MODEL_KEEPS_ALL : 3;
    return asked;
}

static void put_job(simulation *p, model_job *job, int which)
{
    pawl_job_definition asked = simulation_some_definition(p, job, which);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_jobs *one = NULL;
    pawl_wall now = simulation_now(p);

    if (pawl_job_put(p->schedulers[0], &asked, NULL, &err) != PAWL_OK ||
        pawl_job_get(fixture_store(p->f), job->name, &one, &err) != PAWL_OK) {
        finding_say(&p->wrong, "%s: %s", job->name, err.message);
        return;
    }
    job->id = pawl_jobs_at(one, 0)->id;
    pawl_jobs_free(one);
    model_put(job, &asked, now, &p->wrong);
    p->covered.puts++;
}

static void trigger(simulation *p, model_job *job)
{
    pawl_job_trigger_options options = PAWL_JOB_TRIGGER_OPTIONS_INIT;
    pawl_job_triggered triggered = PAWL_JOB_TRIGGERED_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    options.force = simulation_dice(p, 3) == 0;
    bool busy = !options.force && model_trigger_is_busy(job);
    pawl_status st = pawl_job_trigger(fixture_store(p->f), job->name, &options, &triggered, &err);
    if (st != (busy ? PAWL_E_BUSY : PAWL_OK))
        finding_say(&p->wrong, "%s: a trigger answered %s", job->name, pawl_status_name(st));
    if (st == PAWL_OK)
        model_triggered(job, &triggered);
    p->covered.triggered += st == PAWL_OK;
    p->covered.busy += st == PAWL_E_BUSY;
}

static void turn(simulation *p, model_job *job)
{
    bool enabled = simulation_dice(p, 3) > 0, changed = false;
    pawl_wall now = simulation_now(p);
    pawl_store *store = fixture_store(p->f);
    pawl_status st = enabled ? pawl_job_enable(store, job->name, &changed, NULL)
                             : pawl_job_disable(store, job->name, &changed, NULL);

    if (st != PAWL_OK || changed != (job->enabled != enabled))
        finding_say(&p->wrong, "%s: switched %s to %s answered %s, %s", job->name,
                    job->enabled ? "on" : "off", enabled ? "on" : "off", pawl_status_name(st),
                    changed ? "changed" : "unchanged");
    model_switch(job, enabled, now, &p->wrong);
    p->covered.switches += changed;
}

void simulation_change(simulation *p)
{
    int which = simulation_dice(p, SIMULATION_JOBS);
    model_job *job = &p->jobs[which];

    if (!job->exists) {
        put_job(p, job, which);
        return;
    }
    switch (simulation_dice(p, 10)) {
    case 0:
        if (pawl_job_delete(fixture_store(p->f), job->name, NULL, NULL) != PAWL_OK)
            finding_say(&p->wrong, "%s: cannot be deleted", job->name);
        model_deleted(job, &p->wrong);
        p->covered.deletes++;
        break;
    case 1:
        put_job(p, job, simulation_dice(p, SIMULATION_JOBS));
        break;
    case 2:
    case 3:
        put_job(p, job, which);
        break;
    case 4:
    case 5:
    case 6:
        turn(p, job);
        break;
    default:
        trigger(p, job);
        break;
    }
}

/* ---- schedulers ---- */

static void open_scheduler(simulation *p, int which)
{
    pawl_error err = PAWL_ERROR_INIT;

    pawl_store_close(p->schedulers[which]);
    p->schedulers[which] = NULL;
    if (pawl_store_open(fixture_url(p->f), fixture_store_options(p->f), &p->schedulers[which],
                        &err) != PAWL_OK)
        test_fail("a scheduler cannot start: %s", err.message);
}

/* One that is not paused; -1: all are. */
static int some_scheduler(simulation *p)
{
    int first = simulation_dice(p, SIMULATION_SCHEDULERS);

    for (int i = 0; i < SIMULATION_SCHEDULERS; i++)
        if (!p->inside[(first + i) % SIMULATION_SCHEDULERS])
            return (first + i) % SIMULATION_SCHEDULERS;
    return -1;
}

static void tick_somebody(simulation *p)
{
    int who = some_scheduler(p), how = simulation_dice(p, 20);

    if (who < 0)
        return;
    if (how < 4) {
        simulation_tick(p, who, SIMULATION_PAUSED);
    } else if (how < 6) {
        simulation_tick(p, who, SIMULATION_FAILING);
    } else if (how == 6) {
        p->covered.killed++;
        open_scheduler(p, who);
    } else {
        simulation_tick_all(p, who);
    }
}

/* ---- the clock ---- */

static void move_clock(simulation *p, int64_t mean_ms)
{
    int64_t now_us = fixture_now(p->f).us, step_ms;

    switch (simulation_dice(p, 64)) {
    case 0:
        step_ms = DAY_MS * (1 + simulation_dice(p, 2));
        break;
    case 1:
        step_ms = simulation_dice(p, (int)(3 * HOUR_MS));
        step_ms = step_ms % 4 ? -step_ms : -(step_ms % MINUTE_MS); /* or a correction */
        p->covered.clock_back++;
        break;
    default:
        step_ms = simulation_dice(p, 4) == 0 ? simulation_dice(p, (int)MINUTE_MS)
                                             : simulation_dice(p, (int)(2 * mean_ms));
        break;
    }
    if (simulation_dice(p, 3) == 0) /* on the minute, when most are due */
        step_ms += MINUTE_MS - (now_us / 1000 + step_ms) % MINUTE_MS;
    fixture_set(p->f, (pawl_wall){now_us + step_ms * 1000});
}

void simulation_meanwhile(simulation *p)
{
    p->covered.paused++;
    for (int i = simulation_dice(p, 4); i >= 0 && !p->wrong.found; i--) {
        switch (simulation_dice(p, 4)) {
        case 0:
            move_clock(p, 10 * MINUTE_MS);
            break;
        case 1:
            simulation_change(p);
            break;
        case 2:
            simulation_work(p);
            break;
        default:
            tick_somebody(p);
            break;
        }
    }
}

/* ---- the month ---- */

/* Each has a change of clocks somewhere. */
static pawl_wall some_month(uint64_t seed)
{
    static const int64_t starts_s[] = {1772668800, 1791590400, 1774224000}; /* March, October */

    return (pawl_wall){starts_s[seed % COUNT_OF(starts_s)] * 1000000};
}

/* The last occurrences, with everybody there. */
static void finish_month(simulation *p)
{
    fixture_set(p->f, (pawl_wall){simulation_now(p).us + 2 * HOUR_MS * 1000});
    simulation_tick_all(p, 0);
    for (int i = 0; i < SIMULATION_JOBS && !p->wrong.found; i++)
        if (p->jobs[i].exists)
            model_check_epoch(&p->jobs[i], &p->wrong);
    for (int i = 0; i < 50 && !p->wrong.found; i++)
        simulation_work(p);
}

static void simulation_on(simulation *p, fixture *f, uint64_t seed, int64_t mean_step_ms)
{
    p->f = f;
    p->random = seed;
    fixture_set(f, some_month(seed));
    p->end = (pawl_wall){simulation_now(p).us + MONTH_MS * 1000};
    for (int i = 0; i < SIMULATION_SCHEDULERS; i++)
        open_scheduler(p, i);
    for (int i = 0; i < SIMULATION_JOBS; i++) {
        snprintf(p->jobs[i].name, sizeof p->jobs[i].name, "job %02d", i);
        put_job(p, &p->jobs[i], i);
    }
    while (!p->wrong.found && simulation_now(p).us < p->end.us) {
        move_clock(p, mean_step_ms);
        tick_somebody(p);
        simulation_work(p);
        if (simulation_dice(p, 4) == 0)
            simulation_change(p);
    }
    if (!p->wrong.found)
        finish_month(p);
}

/* Everything but what was covered. */
static void clear_simulation(simulation *p)
{
    for (int i = 0; i < SIMULATION_SCHEDULERS; i++)
        pawl_store_close(p->schedulers[i]);
    for (int i = 0; i < SIMULATION_JOBS; i++)
        model_job_free(&p->jobs[i]);
    *p = (simulation){.covered = p->covered};
}

bool simulate_month(void *months, uint64_t seed, finding *wrong)
{
    simulated_months *m = months;
    pawl_store_options store = PAWL_STORE_OPTIONS_INIT;

    store.durability = PAWL_DURABILITY_NORMAL;
    fixture *f = fixture_open(&(fixture_options){.store = &store});
    if (m->broken_sql)
        fixture_exec(f, "%s", fixture_expand(f, m->broken_sql));
    simulation_on(&m->p, f, seed, m->mean_step_ms);
    *wrong = m->p.wrong;
    clear_simulation(&m->p);
    fixture_close(f);
    return !wrong->found;
}

static void free_months(void *argument)
{
    clear_simulation(&((simulated_months *)argument)->p);
    free(argument);
}

simulated_months *simulation_months_new(int64_t mean_step_ms, const char *broken_sql)
{
    simulated_months *m = calloc(1, sizeof *m);

    if (!m)
        test_fail("out of memory");
    m->mean_step_ms = mean_step_ms;
    m->broken_sql = broken_sql;
    test_defer(free_months, m);
    return m;
}
