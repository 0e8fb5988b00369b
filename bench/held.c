/*
 * bench/held.c - a steady load while somebody keeps a transaction open.
 *
 * One sender keeps a small backlog, some workers claim and acknowledge as fast as they can. While
 * the transaction is open, vacuum cannot remove what they have finished, and whoever walks over it
 * becomes slower from window to window.
 */
#include "held.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "basics.h"
#include "pg.h"

#define SEND_BATCH 100
#define BACKLOG 5000
#define PAUSE_MS 1
#define LAST_WINDOWS 2

typedef struct traffic {
    const runner *runner;
    size_t batch;
    atomic_llong sent, done;
    atomic_bool stopping;
} traffic;

typedef struct hand {
    traffic *traffic;
    void *worker;
    pthread_t thread;
} hand;

static void pause_ms(int ms)
{
    poll(NULL, 0, ms);
}

static void *send(void *context)
{
    hand *self = context;
    traffic *t = self->traffic;

    while (!atomic_load(&t->stopping)) {
        if (atomic_load(&t->sent) - atomic_load(&t->done) >= BACKLOG) {
            pause_ms(PAUSE_MS);
            continue;
        }
        t->runner->side->enqueue(self->worker, SEND_BATCH);
        atomic_fetch_add(&t->sent, SEND_BATCH);
    }
    return NULL;
}

static void *held_work(void *context)
{
    hand *self = context;
    traffic *t = self->traffic;

    while (!atomic_load(&t->stopping)) {
        size_t count = t->runner->side->claim(self->worker, t->batch);

        if (count == 0) {
            pause_ms(PAUSE_MS);
            continue;
        }
        t->runner->side->ack(self->worker);
        atomic_fetch_add(&t->done, (long long)count);
    }
    return NULL;
}

/* Messages finished per second in each window. */
static void watch(traffic *t, double duration, double *ret_windows)
{
    double began = seconds_now(), from = began;
    long long before = 0;

    for (int i = 0; i < WINDOWS; i++) {
        double end = began + duration * (i + 1) / WINDOWS, now;
        long long done;

        while ((now = seconds_now()) < end)
            pause_ms((int)((end - now) * 1000) + 1);
        done = atomic_load(&t->done);
        ret_windows[i] = (double)(done - before) / (now - from);
        before = done;
        from = now;
    }
}

static void run_traffic(const runner *self, const row *r, double duration, double *ret_windows)
{
    traffic t = {.runner = self, .batch = r->load.batch};
    hand *hands = allocate((size_t)self->worker_count, sizeof *hands);

    for (int i = 0; i < self->worker_count; i++) {
        hands[i] = (hand){.traffic = &t, .worker = self->workers[i]};
        if (pthread_create(&hands[i].thread, NULL, i == 0 ? send : held_work, &hands[i]) != 0)
            die("no thread for the load");
    }
    watch(&t, duration, ret_windows);
    atomic_store(&t.stopping, true);
    for (int i = 0; i < self->worker_count; i++)
        pthread_join(hands[i].thread, NULL);
    free(hands);
}

/* Open the transaction that disturbs; NULL: none. */
static PGconn *disturb(const runner *self, row_disturbance how)
{
    PGconn *connection;

    if (how == DISTURBANCE_NONE)
        return NULL;
    connection = pg_open(self->db);
    if (how == DISTURBANCE_SNAPSHOT) {
        pg_exec(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ");
        pg_exec(connection, "SELECT count(*) FROM lane");
    } else {
        pg_exec(connection, "BEGIN");
        self->side->enqueue_inside(self->workers[0], connection);
    }
    return connection;
}

static void run_side(const side *which, database *db, const row *r, row_disturbance how,
                     const options *opts, double *ret_windows)
{
    load with_sender = r->load;
    runner self = {0};
    PGconn *connection;

    with_sender.callers++;
    db->topics = 1;
    db->engine->reset(db);
    runner_open(&self, which, db, &with_sender);
    connection = disturb(&self, how);
    run_traffic(&self, r, opts->held_seconds, ret_windows);
    PQfinish(connection); /* rolls back */
    runner_close(&self);
}

/* What it had come to in the end; of a short run, in which a window is next to nothing, the whole.
 */
static double last_rate(const double *windows, const options *opts)
{
    int first = opts->is_short ? 0 : WINDOWS - LAST_WINDOWS;
    double sum = 0;

    for (int i = first; i < WINDOWS; i++)
        sum += windows[i];
    return sum / (WINDOWS - first);
}

void held_measure(row *r, grounds *g, held_runs *runs, const options *opts)
{
    if (!opts->only_raw) {
        if (last_rate(runs->pawl, opts) <= 0)
            run_side(&side_pawl, &g->pawl, r, DISTURBANCE_NONE, opts, runs->pawl);
        run_side(&side_pawl, &g->pawl, r, r->disturbance, opts, r->pawl_windows);
    }
    if (!opts->only_pawl) {
        if (last_rate(runs->raw, opts) <= 0)
            run_side(g->raw.engine->raw, &g->raw, r, DISTURBANCE_NONE, opts, runs->raw);
        run_side(g->raw.engine->raw, &g->raw, r, r->disturbance, opts, r->raw_windows);
    }
    r->pawl_reference = last_rate(runs->pawl, opts);
    r->raw_reference = last_rate(runs->raw, opts);
    r->pawl_rate = last_rate(r->pawl_windows, opts);
    r->raw_rate = last_rate(r->raw_windows, opts);
}
