/* bench/compare.c - two programs in turn, round by round. */
#include "compare.h"

#include <stdio.h>
#include <string.h>

#include "basics.h"

static void init_database(database *db, const options *opts, const target *t, const char *name)
{
    *db = (database){.engine = *t->engine, .durability = t->setting, .topics = 1};
    if (db->engine == engine_sqlite) {
        snprintf(db->target, sizeof db->target, "%s/%s.db", opts->directory, name);
    } else {
        snprintf(db->target, sizeof db->target, "%s", opts->postgres);
        snprintf(db->schema, sizeof db->schema, "pawl_bench_%s", name);
    }
}

void grounds_init(grounds *self, const options *opts, const target *t)
{
    init_database(&self->pawl, opts, t, "pawl");
    init_database(&self->raw, opts, t, "raw");
    init_database(&self->ballast, opts, t, "ballast");
    self->ballast_loaded = false;
}

void grounds_change(grounds *self, const target *t)
{
    self->pawl.durability = self->raw.durability = self->ballast.durability = t->setting;
}

void grounds_drop(grounds *self)
{
    self->pawl.engine->drop(&self->pawl);
    self->raw.engine->drop(&self->raw);
    self->ballast.engine->drop(&self->ballast);
}

/*
 * Rounds of both, in turn, after a short one of each that does not count; the median of each.
 * Either may be closed: then it is left out, and its rate is 0.
 */
static void take_turns(runner *first, runner *second, const row *r, const options *opts,
                       double *ret_first, double *ret_second)
{
    double first_rates[ROUNDS_MAX], second_rates[ROUNDS_MAX];

    for (int i = opts->is_short ? 0 : -1; i < opts->rounds; i++) {
        double duration = i < 0 ? opts->seconds / 5 : opts->seconds;
        double first_rate = first->program ? runner_round(first, &r->load, duration) : 0;
        double second_rate = second->program ? runner_round(second, &r->load, duration) : 0;

        if (i >= 0) {
            first_rates[i] = first_rate;
            second_rates[i] = second_rate;
        }
    }
    *ret_first = median_of(first_rates, opts->rounds);
    *ret_second = median_of(second_rates, opts->rounds);
}

static void open_fresh(runner *self, const side *which, database *db, const row *r)
{
    db->topics = r->topics;
    db->engine->reset(db);
    runner_open(self, which, db, &r->load);
}

void compare_with_raw(row *r, grounds *g, const options *opts)
{
    runner pawl = {0}, raw = {0};

    if (!opts->only_raw)
        open_fresh(&pawl, &side_pawl, &g->pawl, r);
    if (!opts->only_pawl)
        open_fresh(&raw, g->raw.engine->raw, &g->raw, r);
    take_turns(&pawl, &raw, r, opts, &r->pawl_rate, &r->raw_rate);
    runner_close(&pawl);
    runner_close(&raw);
}

/* One side among the ballast and alone, in turn. */
static void weigh(const side *which, row *r, grounds *g, database *alone, const options *opts,
                  double *ret_heavy, double *ret_light)
{
    runner heavy = {0}, light = {0};

    g->ballast.engine->clear_ready(&g->ballast);
    runner_open(&heavy, which, &g->ballast, &r->load);
    open_fresh(&light, which, alone, r);
    take_turns(&heavy, &light, r, opts, ret_heavy, ret_light);
    runner_close(&heavy);
    runner_close(&light);
}

void compare_with_ballast(row *r, grounds *g, const options *opts)
{
    const engine *kind = g->ballast.engine;

    if (!g->ballast_loaded) {
        kind->reset(&g->ballast);
        kind->add_ballast(&g->ballast, opts->ballast, opts->ballast);
        g->ballast_loaded = true;
    }
    if (!opts->only_raw)
        weigh(&side_pawl, r, g, &g->pawl, opts, &r->pawl_rate, &r->pawl_reference);
    if (!opts->only_pawl)
        weigh(kind->raw, r, g, &g->raw, opts, &r->raw_rate, &r->raw_reference);
}
