/* bench/memory.c - the memory of a worker that empties a large backlog, in a process of its own. */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basics.h"
#include "shift.h"

/* What the two processes tell each other. */
typedef struct memory_use {
    size_t batch;
    bool by_worker;  /* pawl_worker_run(), not claims by hand */
    int64_t backlog; /* what is there */
    int64_t done;    /* the answer: how many were taken, how long that took, */
    double seconds;
    long start_kib, peak_kib; /* and with how much memory */
} memory_use;

/*
 * The peak resident size of this process in KiB. Not ru_maxrss: that one remembers, across exec,
 * the size of the process that started this one.
 */
static long peak_kib(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;

    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    }
    if (file)
        fclose(file);
    return kib;
}

static void claim_by_hand(database *db, memory_use *use)
{
    void *program = side_pawl.open(db, 1);
    void *worker = side_pawl.worker_new(program);
    double began = seconds_now();
    size_t count;

    use->start_kib = peak_kib();
    while ((count = side_pawl.claim(worker, use->batch)) > 0) {
        side_pawl.ack(worker);
        use->done += (int64_t)count;
    }
    use->seconds = seconds_now() - began;
    side_pawl.worker_free(worker);
    side_pawl.close(program);
}

static void let_worker_run(database *db, memory_use *use)
{
    pawl_store *store = shift_open(db);
    shift s;

    use->start_kib = peak_kib();
    shift_begin(&s, store, (int)use->batch, use->backlog);
    use->seconds = shift_await(&s);
    use->done = use->backlog;
    shift_end(&s);
    pawl_store_close(store);
}

static void empty_backlog(database *db, void *memory)
{
    memory_use *use = memory;

    if (use->by_worker)
        let_worker_run(db, use);
    else
        claim_by_hand(db, use);
    use->peak_kib = peak_kib();
}

const child_job memory_job = {"memory", empty_backlog};

void memory_measure(row *r, grounds *g, const options *opts)
{
    shared memory = shared_new(sizeof(memory_use));
    memory_use *use = memory.memory;
    database *db = &g->pawl;

    *use =
        (memory_use){.batch = r->load.batch, .by_worker = r->by_worker, .backlog = opts->backlog};
    db->topics = r->topics;
    db->engine->reset(db);
    db->engine->fill(db, opts->backlog);
    db->engine->tidy(db);
    child_wait(child_start(&memory_job, db, &memory));
    if (use->done != opts->backlog)
        die("%s took %lld messages of %lld", r->id, (long long)use->done, (long long)opts->backlog);
    r->start_kib = use->start_kib;
    r->peak_kib = use->peak_kib;
    r->pawl_rate = (double)use->done / use->seconds;
    shared_free(&memory);
}
