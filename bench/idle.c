/* bench/idle.c - what a worker costs that has nothing to do. */
#include "idle.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "basics.h"
#include "shift.h"

#define SETTLE_MS 3000 /* until it has connected, listened, and gone to sleep */
#define SHORT_SETTLE_MS 200
#define PATIENCE_S 30
#define SESSIONS "pawl_bench_idle" /* what the worker's connections are called at the server */

typedef enum stage { STARTING, MEASURING, ENDED } stage;

/* What the two processes tell each other. */
typedef struct idleness {
    int settle_ms;
    int duration_ms;
    _Atomic stage stage; /* the worker's process goes from one to the next, */
    atomic_bool seen;    /* and ends when the other one has seen the last */
    double cpu_seconds;
} idleness;

static double cpu_seconds(void)
{
    struct rusage usage = {0};

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void rest_ms(int ms)
{
    poll(NULL, 0, ms);
}

static void do_nothing(database *db, void *memory)
{
    idleness *self = memory;
    pawl_store *store;
    double before;
    shift s;

    setenv("PGAPPNAME", SESSIONS, 1);
    store = shift_open(db);
    shift_begin(&s, store, SHIFT_BATCH, 0);
    rest_ms(self->settle_ms);
    before = cpu_seconds();
    atomic_store(&self->stage, MEASURING);
    rest_ms(self->duration_ms);
    self->cpu_seconds = cpu_seconds() - before;
    atomic_store(&self->stage, ENDED);
    while (!atomic_load(&self->seen))
        rest_ms(1);
    shift_end(&s);
    pawl_store_close(store);
}

const child_job idle_job = {"idle", do_nothing};

static void await(idleness *self, stage wanted)
{
    double until = seconds_now() + (self->settle_ms + self->duration_ms) / 1000.0 + PATIENCE_S;

    while (atomic_load(&self->stage) != wanted) {
        if (seconds_now() > until)
            die("the idle worker's process does not answer");
        rest_ms(5);
    }
}

static double sessions_cpu(const database *db)
{
    return db->engine->sessions_cpu ? db->engine->sessions_cpu(db, SESSIONS) : 0;
}

void idle_measure(row *r, grounds *g, const options *opts)
{
    shared memory = shared_new(sizeof(idleness));
    idleness *self = memory.memory;
    database *db = &g->pawl;
    double before;
    pid_t pid;

    self->settle_ms = opts->is_short ? SHORT_SETTLE_MS : SETTLE_MS;
    self->duration_ms = (int)(opts->idle_seconds * 1000);
    db->topics = r->topics;
    db->engine->reset(db);
    db->engine->tidy(db);
    pid = child_start(&idle_job, db, &memory);
    await(self, MEASURING);
    before = sessions_cpu(db);
    await(self, ENDED);
    r->cpu_seconds = self->cpu_seconds;
    if (before > 0)
        r->server_cpu_seconds = sessions_cpu(db) - before;
    atomic_store(&self->seen, true);
    child_wait(pid);
    shared_free(&memory);
}
