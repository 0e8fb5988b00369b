/* bench/load.c - work that is done for a while by some threads, and how fast it went. */
#include "load.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "basics.h"

#define FIRST_RATE 20000.0 /* messages per second, a guess for the first backlog */
#define BACKLOG_SPARE 1.6

typedef struct round {
    const runner *runner;
    const load *what;
    double duration;
    pthread_barrier_t start;
    atomic_llong left; /* of the backlog */
} round;

typedef struct caller {
    round *round;
    void *worker;
    pthread_t thread;
    double began, ended;
    int64_t done;
} caller;

static bool needs_backlog(const load *what)
{
    return what->kind == LOAD_CLAIM_ACK || what->kind == LOAD_ACK_CLAIM;
}

static size_t step(const caller *self)
{
    const side *which = self->round->runner->side;
    const load *what = self->round->what;
    size_t count = what->batch;

    switch (what->kind) {
    case LOAD_ENQUEUE:
        which->enqueue(self->worker, count);
        break;
    case LOAD_CLAIM_ACK:
        count = which->claim(self->worker, count);
        which->ack(self->worker);
        break;
    case LOAD_ACK_CLAIM:
        count = which->ack_and_claim(self->worker, count);
        break;
    case LOAD_RECEIVE:
        which->receive(self->worker);
        count = 1;
        break;
    }
    return count;
}

static void *call(void *context)
{
    caller *self = context;
    round *r = self->round;

    pthread_barrier_wait(&r->start);
    self->began = self->ended = seconds_now();
    while (self->ended - self->began < r->duration) {
        size_t count = step(self);

        self->ended = seconds_now();
        self->done += (int64_t)count;
        if (needs_backlog(r->what) &&
            atomic_fetch_sub(&r->left, (long long)count) <= (long long)count)
            break; /* the backlog is used up: the round is over before its time */
    }
    return NULL;
}

static void fill_backlog(runner *self, const load *what, double duration)
{
    double rate = self->best_rate > 0 ? self->best_rate : FIRST_RATE;
    int64_t wanted =
        (int64_t)(rate * duration * BACKLOG_SPARE) + (int64_t)what->batch * what->callers;

    if (needs_backlog(what) && self->db->ready < wanted)
        self->db->engine->fill(self->db, wanted - self->db->ready);
    self->db->engine->tidy(self->db);
}

double runner_round(runner *self, const load *what, double duration)
{
    round r = {.runner = self, .what = what, .duration = duration};
    caller *callers = allocate((size_t)what->callers, sizeof *callers);
    double began = 0, ended = 0, rate;
    int64_t done = 0;

    fill_backlog(self, what, duration);
    atomic_init(&r.left, self->db->ready);
    pthread_barrier_init(&r.start, NULL, (unsigned)what->callers);
    for (int i = 0; i < what->callers; i++) {
        callers[i].round = &r;
        callers[i].worker = self->workers[i];
        if (pthread_create(&callers[i].thread, NULL, call, &callers[i]) != 0)
            die("no thread for caller %d", i);
    }
    for (int i = 0; i < what->callers; i++) {
        pthread_join(callers[i].thread, NULL);
        began = i == 0 || callers[i].began < began ? callers[i].began : began;
        ended = i == 0 || callers[i].ended > ended ? callers[i].ended : ended;
        done += callers[i].done;
        self->side->ack(self->workers[i]); /* what the last claim of a fused round took */
    }
    pthread_barrier_destroy(&r.start);
    free(callers);
    if (what->kind == LOAD_ENQUEUE)
        self->db->ready += done;
    else if (needs_backlog(what))
        self->db->ready -= done;
    rate = (double)done / (ended - began);
    self->best_rate = rate > self->best_rate ? rate : self->best_rate;
    return rate;
}

void runner_open(runner *self, const side *which, database *db, const load *what)
{
    *self = (runner){.side = which, .db = db, .worker_count = what->callers};
    self->program = which->open(db, what->callers);
    self->workers = allocate((size_t)what->callers, sizeof *self->workers);
    for (int i = 0; i < what->callers; i++)
        self->workers[i] = which->worker_new(self->program);
}

void runner_close(runner *self)
{
    if (!self->program)
        return;
    for (int i = 0; i < self->worker_count; i++)
        self->side->worker_free(self->workers[i]);
    free(self->workers);
    self->side->close(self->program);
    *self = (runner){0};
}

static int load_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double median_of(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, load_compare);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}
