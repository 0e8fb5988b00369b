/*
 * tests/jobs/simulation.h - a month of jobs on a real store with three schedulers and an adversary,
 * beside the model. docs/internals/job.md says what it shows.
 *
 * All three believe that they lead, all the time. One is paused between reading what is due and
 * writing what it decided, while the others go on, jobs are changed and the clock moves; its
 * connection fails; it is killed and another one starts.
 */
#ifndef PAWL_JOBS_SIMULATION_H
#define PAWL_JOBS_SIMULATION_H

#include "fixture.h"
#include "job_model.h"
#include "expectation.h"

#define SIMULATION_JOBS 36
#define SIMULATION_SCHEDULERS 3
#define SIMULATION_HELD 64

typedef struct coverage {
    int64_t ticks, paused, overtaken, failed, in_doubt, killed, clock_back, rewound;
    int64_t runs, misfires, overlaps, occurrences_skipped, waited, promoted, triggered, busy;
    int64_t puts, switches, deletes, ended, retried, reaped, cleaned;
} coverage;

/* A run's message that a worker holds. */
typedef struct simulation_held {
    pawl_receipt item;
    int64_t run_id;
} simulation_held;

typedef struct simulation {
    fixture *f;
    pawl_store *schedulers[SIMULATION_SCHEDULERS];
    bool inside[SIMULATION_SCHEDULERS]; /* paused in a tick */
    model_job jobs[SIMULATION_JOBS];
    simulation_held held[SIMULATION_HELD];
    size_t held_count;
    int64_t last_row; /* of the history, that was seen */
    uint64_t random;
    pawl_wall end;
    pawl_wall latest; /* that the clock has shown */
    finding wrong;
    coverage covered;
} simulation;

/* Months, each on a fresh store, for a campaign: its context. Freed when the test ends. */
typedef struct simulated_months {
    simulation p;
    int64_t mean_step_ms;
    const char *broken_sql; /* breaks the store on purpose, as fixture_exec() takes it; or NULL */
} simulated_months;
simulated_months *simulation_months_new(int64_t mean_step_ms, const char *broken_sql);
/* The month of a seed. */
bool simulate_month(void *months, uint64_t seed, finding *wrong);

/* For the files of the simulation. */
int simulation_dice(simulation *p, int sides);
pawl_wall simulation_now(simulation *p);
pawl_job_definition simulation_some_definition(simulation *p, const model_job *job, int which);
/* One look of a scheduler, compared; the next three say how. */
typedef enum simulation_mode {
    SIMULATION_PLAIN,
    SIMULATION_PAUSED,
    SIMULATION_FAILING
} simulation_mode;
void simulation_tick(simulation *p, int scheduler, simulation_mode mode);
/* Until nothing is left, then everything must be as the model says. */
void simulation_tick_all(simulation *p, int scheduler);
/* What was recorded since the last look must be what these looks were to make. */
void simulation_work(simulation *p);
void simulation_change(simulation *p);
/* While a scheduler is paused. */
void simulation_meanwhile(simulation *p);

#endif
