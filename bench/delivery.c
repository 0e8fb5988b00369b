/* bench/delivery.c - how fast messages get from one database to an effect in another. */
#include "delivery.h"

#include "basics.h"
#include "exchange.h"
#include "post.h"

#define FIRST_RATE 2000.0 /* messages per second, a guess for the first round */
#define HANDLERS 16       /* the receiver's default */
#define GOOD 8            /* of ten */

/* As many effects as messages: each once. */
static void check_effects(database *db, int64_t expected)
{
    int64_t found = db->engine->count_effects(db);

    if (found != expected)
        die("pawl: %lld messages had %lld effects", (long long)expected, (long long)found);
}

static void delivery_reset(grounds *g)
{
    g->pawl.topics = g->raw.topics = 1;
    g->pawl.engine->reset(&g->pawl);
    g->raw.engine->reset(&g->raw);
}

/* ---- one destination ---- */

typedef struct sending {
    grounds *grounds;
    exchange exchange;
    int64_t total;
    double best_rate;
} sending;

/* From the first call that sends until the last acknowledgement is stored. */
static double send_some(void *context, double duration)
{
    sending *self = context;
    double rate = self->best_rate > 0 ? self->best_rate : FIRST_RATE;
    int64_t count = (int64_t)(rate * duration) + self->exchange.options.in_flight;
    database *db[] = {&self->grounds->pawl, &self->grounds->raw};
    double begin;

    for (int i = 0; i < 2; i++)
        db[i]->engine->tidy(db[i]);
    begin = seconds_now();
    exchange_send(&self->exchange, count);
    self->total += count;
    exchange_await(&self->exchange, 1, self->total);
    exchange_await_stored(&self->exchange, self->total);
    rate = (double)count / (seconds_now() - begin);
    self->best_rate = rate > self->best_rate ? rate : self->best_rate;
    return rate;
}

void delivery_measure(row *r, grounds *g, const options *opts)
{
    sending pawl = {.grounds = g};
    exchange_options how = {.sender = &g->pawl,
                            .receiver = &g->raw,
                            .destinations = 1,
                            .in_flight = r->load.callers,
                            .handlers = r->load.callers,
                            .over_unix = r->over_unix};
    contestant first = {0}, second = {0};
    post *posts = NULL;

    if (!opts->only_raw) {
        delivery_reset(g);
        exchange_open(&pawl.exchange, &how);
        exchange_deliver(&pawl.exchange);
        first = (contestant){send_some, &pawl};
    }
    if (!opts->only_pawl) {
        posts = post_open(r->over_unix, r->load.callers);
        second = (contestant){post_round, posts};
    }
    r->pawl_paired = take_turns(&first, &second, opts, &r->pawl_rate, &r->raw_rate);
    post_close(posts);
    if (!opts->only_raw) {
        exchange_close(&pawl.exchange);
        check_effects(&g->raw, pawl.total);
    }
}

/* ---- ten ---- */

typedef struct crowd {
    grounds *grounds;
    int in_flight;
    exchange_trouble trouble;
    double *best_rate; /* of both crowds, so that both get as much to do */
} crowd;

/* A new pair of databases each time, because the dead one's messages would stay. */
static double send_to_ten(void *context, double duration)
{
    crowd *self = context;
    double rate = *self->best_rate > 0 ? *self->best_rate : FIRST_RATE;
    int64_t each = (int64_t)(rate * duration / GOOD) + 1;
    exchange_options how = {.sender = &self->grounds->pawl,
                            .receiver = &self->grounds->raw,
                            .destinations = EXCHANGE_DESTINATIONS,
                            .in_flight = self->in_flight,
                            .handlers = HANDLERS,
                            .trouble = self->trouble};
    exchange all;
    double begin;

    delivery_reset(self->grounds);
    exchange_open(&all, &how);
    exchange_send(&all, each);
    self->grounds->pawl.engine->tidy(&self->grounds->pawl);
    begin = seconds_now();
    exchange_deliver(&all);
    exchange_await(&all, GOOD, each);
    rate = (double)(each * GOOD) / (seconds_now() - begin);
    exchange_close(&all);
    if (self->trouble != TROUBLE_NONE)
        check_effects(&self->grounds->raw, each * GOOD);
    *self->best_rate = rate > *self->best_rate ? rate : *self->best_rate;
    return rate;
}

options delivery_ten_options(const options *opts)
{
    options changed = *opts;

    changed.seconds *= opts->is_short ? 1 : 10;
    changed.rounds = (opts->rounds + 2) / 3;
    return changed;
}

void delivery_measure_ten(row *r, grounds *g, const options *opts)
{
    options longer = delivery_ten_options(opts);
    double best_rate = 0;
    crowd troubled = {.grounds = g,
                      .in_flight = r->load.callers,
                      .trouble = r->silent ? TROUBLE_SILENT : TROUBLE_REFUSED,
                      .best_rate = &best_rate};
    crowd good = troubled;
    contestant first = {send_to_ten, &troubled}, second = {send_to_ten, &good};

    good.trouble = TROUBLE_NONE;
    r->pawl_paired = take_turns(&first, &second, &longer, &r->pawl_rate, &r->pawl_reference);
}
