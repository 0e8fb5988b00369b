/* bench/latency.c - how long a message that is sent into an idle system waits for its handler. */
#include "latency.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "basics.h"
#include "courier.h"

#define RATE 200      /* messages per second */
#define PATIENCE_S 60 /* a message that takes this long is lost */

/* One side of a row. */
typedef struct way {
    const courier *courier;
    const child_job *job;
    database *db;
    durations woken, started;
} way;

typedef struct receiver {
    const courier *courier;
    void *program;
    pthread_t thread;
    pid_t pid;
} receiver;

static void receive(const courier *which, database *db, timeline *t)
{
    void *program = which->open(db, t);

    which->receive(program);
    which->close(program);
}

static void receive_pawl(database *db, void *memory)
{
    receive(&courier_pawl, db, memory);
}

static void receive_raw(database *db, void *memory)
{
    receive(db->engine->courier, db, memory);
}

const child_job latency_pawl_job = {"latency-pawl", receive_pawl};
const child_job latency_raw_job = {"latency-raw", receive_raw};

static void *run_receiver(void *context)
{
    receiver *self = context;

    self->courier->receive(self->program);
    return NULL;
}

static void pause_until(double when)
{
    struct timespec at = {.tv_sec = (time_t)when};

    at.tv_nsec = (long)((when - (double)at.tv_sec) * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
}

/* Until a counter in shared memory says so; nothing is measured meanwhile. */
static void await(atomic_int *counter, int value, const char *what)
{
    double began = seconds_now();

    while (atomic_load(counter) < value) {
        if (seconds_now() - began > PATIENCE_S)
            die("%s: %d instead of %d after %d s", what, atomic_load(counter), value, PATIENCE_S);
        pause_until(seconds_now() + 0.001);
    }
}

/* Who is late does not hurry to make up for it: that would be no idle system any more. */
static void send_all(const courier *which, void *program, timeline *t)
{
    double due = seconds_now();

    for (int i = 0; i < t->count; i++) {
        pause_until(due);
        which->send(program, i);
        t->sent[i] = seconds_now();
        if (which->ring)
            which->ring(program);
        due += 1.0 / RATE;
        if (due < t->sent[i])
            due = t->sent[i];
    }
}

static void run_round(way *self, const row *r, const options *opts)
{
    shared memory = shared_new(sizeof(timeline));
    timeline *t = memory.memory;
    receiver other = {.courier = self->courier};

    t->count = opts->warm_letters + opts->letters;
    t->bell = eventfd(0, 0);
    if (self->courier->prepare)
        self->courier->prepare(self->db);
    self->db->engine->tidy(self->db);
    other.program = self->courier->open(self->db, t);
    if (r->two_processes)
        other.pid = child_start(self->job, self->db, &memory);
    else if (pthread_create(&other.thread, NULL, run_receiver, &other) != 0)
        die("no thread for the receiver");
    await(&t->ready, 1, "the receiver");
    send_all(self->courier, other.program, t);
    await(&t->received, t->count, "messages received");
    if (r->two_processes)
        child_wait(other.pid);
    else
        pthread_join(other.thread, NULL);
    self->courier->close(other.program);
    durations_add(&self->woken, t, t->woken, opts->warm_letters);
    durations_add(&self->started, t, t->started, opts->warm_letters);
    close(t->bell);
    shared_free(&memory);
}

static void finish(way *self, spread *ret_started, spread *ret_woken)
{
    *ret_started = durations_spread(&self->started);
    if (ret_woken)
        *ret_woken = durations_spread(&self->woken);
    durations_free(&self->started);
    durations_free(&self->woken);
}

void latency_measure(row *r, grounds *g, const options *opts)
{
    way pawl = {.courier = &courier_pawl, .job = &latency_pawl_job, .db = &g->pawl};
    way raw = {.courier = g->raw.engine->courier, .job = &latency_raw_job, .db = &g->raw};

    g->pawl.topics = g->raw.topics = r->topics;
    if (!opts->only_raw)
        g->pawl.engine->reset(&g->pawl);
    if (!opts->only_pawl)
        g->raw.engine->reset(&g->raw);
    for (int i = 0; i < opts->latency_rounds; i++) {
        if (!opts->only_raw)
            run_round(&pawl, r, opts);
        if (!opts->only_pawl)
            run_round(&raw, r, opts);
    }
    finish(&pawl, &r->pawl_latency, NULL);
    finish(&raw, &r->raw_latency, &r->raw_wake);
}
