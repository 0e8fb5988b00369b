/* bench/throughput.c - how fast the worker empties a backlog with a handler that does nothing. */
#include "throughput.h"

#include "basics.h"
#include "shift.h"

#define FIRST_RATE 20000.0 /* messages per second, a guess for the first backlog */

typedef struct emptying {
    const row *row;
    database *db;
    pawl_store *store;
    double best_rate;
} emptying;

/* A round is a backlog of about that duration, and lasts until it is empty. */
static double empty_backlog(void *context, double duration)
{
    emptying *self = context;
    int batch = (int)self->row->load.batch;
    double rate = self->best_rate > 0 ? self->best_rate : FIRST_RATE;
    int64_t count = (int64_t)(rate * duration) + INT64_C(2) * batch;
    shift s;

    self->db->engine->fill(self->db, count);
    self->db->engine->tidy(self->db);
    shift_begin(&s, self->store, batch, count);
    rate = (double)count / shift_await(&s);
    shift_end(&s);
    self->db->ready -= count;
    self->best_rate = rate > self->best_rate ? rate : self->best_rate;
    return rate;
}

void throughput_measure(row *r, grounds *g, const options *opts)
{
    emptying pawl = {.row = r, .db = &g->pawl};
    runner raw = {0};
    contestant first = {0}, second = {0};
    contestant_load raw_load = {&raw, &r->load};

    if (!opts->only_raw) {
        pawl.db->topics = r->topics;
        pawl.db->engine->reset(pawl.db);
        pawl.store = shift_open(pawl.db);
        first = (contestant){empty_backlog, &pawl};
    }
    if (!opts->only_pawl) {
        g->raw.topics = r->topics;
        g->raw.engine->reset(&g->raw);
        runner_open(&raw, g->raw.engine->raw, &g->raw, &r->load);
        second = (contestant){contestant_run_load, &raw_load};
    }
    r->pawl_paired = take_turns(&first, &second, opts, &r->pawl_rate, &r->raw_rate);
    pawl_store_close(pawl.store);
    runner_close(&raw);
}
