/*
 * tests/jobs/play.h - a month of jobs on a real store with three schedulers and an adversary,
 * beside the model. docs/internals/job.md says what it shows.
 *
 * All three believe that they lead, all the time. One is paused between reading what is due and
 * writing what it decided, while the others go on, jobs are changed and the clock moves; its
 * connection fails; it is killed and another one starts.
 */
#ifndef PAWL_JOBS_PLAY_H
#define PAWL_JOBS_PLAY_H

#include "fixture.h"
#include "model.h"
#include "outlook.h"

#define PLAY_JOBS 36
#define PLAY_SCHEDULERS 3
#define PLAY_HELD 64

typedef struct coverage {
    int64_t ticks, paused, overtaken, failed, in_doubt, killed, clock_back, rewound;
    int64_t runs, misfires, overlaps, slots_skipped, waited, promoted, triggered, busy;
    int64_t puts, switches, deletes, ended, retried, reaped, cleaned;
} coverage;

/* A run's message that a worker holds. */
typedef struct play_held {
    pawl_held item;
    int64_t run_id;
} play_held;

typedef struct play {
    fixture *f;
    pawl_store *schedulers[PLAY_SCHEDULERS];
    bool inside[PLAY_SCHEDULERS]; /* paused in a tick */
    model_job jobs[PLAY_JOBS];
    play_held held[PLAY_HELD];
    size_t held_count;
    int64_t last_row; /* of the history, that was seen */
    uint64_t random;
    pawl_wall end;
    pawl_wall latest; /* that the clock has shown */
    finding wrong;
    coverage covered;
} play;

/* Months, each on a fresh store, for a campaign: its context. Freed when the test ends. */
typedef struct play_months {
    play p;
    int64_t mean_step_ms;
    const char *broken_sql; /* breaks the store on purpose, as fixture_exec() takes it; or NULL */
} play_months;
play_months *play_months_new(int64_t mean_step_ms, const char *broken_sql);
/* The month of a seed. */
bool play_month(void *months, uint64_t seed, finding *wrong);

/* For the files of the play. */
int play_dice(play *p, int sides);
pawl_wall play_now(play *p);
pawl_job_definition play_some_definition(play *p, const model_job *job, int which);
/* One look of a scheduler, compared; the next three say how. */
typedef enum play_mode { PLAY_PLAIN, PLAY_PAUSED, PLAY_FAILING } play_mode;
void play_tick(play *p, int scheduler, play_mode mode);
/* Until nothing is left, then everything must be as the model says. */
void play_tick_all(play *p, int scheduler);
/* What was recorded since the last look must be what these looks were to make. */
void play_work(play *p);
void play_change(play *p);
/* While a scheduler is paused. */
void play_meanwhile(play *p);

#endif
