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
    } else if (db->engine == engine_postgres) {
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

void grounds_load_ballast(grounds *self, const options *opts)
{
    const engine *kind = self->ballast.engine;

    if (self->ballast_loaded)
        return;
    kind->reset(&self->ballast);
    kind->add_ballast(&self->ballast, opts->ballast, opts->ballast);
    self->ballast_loaded = true;
}

double contestant_run_load(void *context, double duration)
{
    const contestant_load *self = context;

    return runner_round(self->runner, self->what, duration);
}

static double one_round(const contestant *self, double duration)
{
    return self->round ? self->round(self->context, duration) : 0;
}

double take_turns(const contestant *first, const contestant *second, const options *opts,
                  double *ret_first, double *ret_second)
{
    double first_rates[ROUNDS_MAX], second_rates[ROUNDS_MAX], ratios[ROUNDS_MAX];
    bool both = first->round && second->round;

    if (!opts->is_short) {
        one_round(first, opts->seconds / 2);
        one_round(second, opts->seconds / 2);
    }
    for (int i = 0; i < opts->rounds; i++) {
        if (i % 2 == 0)
            first_rates[i] = one_round(first, opts->seconds);
        second_rates[i] = one_round(second, opts->seconds);
        if (i % 2 == 1)
            first_rates[i] = one_round(first, opts->seconds);
        ratios[i] = both ? first_rates[i] / second_rates[i] : 0;
    }
    *ret_first = median_of(first_rates, opts->rounds);
    *ret_second = median_of(second_rates, opts->rounds);
    return median_of(ratios, opts->rounds);
}

/* Two runners, of which either may be closed. */
static double run_in_turn(runner *first, runner *second, const row *r, const options *opts,
                          double *ret_first, double *ret_second)
{
    contestant_load loads[] = {{first, &r->load}, {second, &r->load}};
    contestant both[] = {{first->program ? contestant_run_load : NULL, &loads[0]},
                         {second->program ? contestant_run_load : NULL, &loads[1]}};

    return take_turns(&both[0], &both[1], opts, ret_first, ret_second);
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
    bool receives = r->load.kind == LOAD_RECEIVE;
    const engine *kind = g->raw.engine;

    if (!opts->only_raw)
        open_fresh(&pawl, receives ? &side_receive_pawl : &side_pawl, &g->pawl, r);
    if (!opts->only_pawl)
        open_fresh(&raw, receives ? kind->raw_receive : kind->raw, &g->raw, r);
    r->pawl_paired = run_in_turn(&pawl, &raw, r, opts, &r->pawl_rate, &r->raw_rate);
    runner_close(&pawl);
    runner_close(&raw);
}

/* One side among the ballast and alone, in turn. */
static double weigh(const side *which, row *r, grounds *g, database *alone, const options *opts,
                    double *ret_heavy, double *ret_light)
{
    runner heavy = {0}, light = {0};

    g->ballast.engine->clear_ready(&g->ballast);
    runner_open(&heavy, which, &g->ballast, &r->load);
    open_fresh(&light, which, alone, r);
    double ratio = run_in_turn(&heavy, &light, r, opts, ret_heavy, ret_light);
    runner_close(&heavy);
    runner_close(&light);
    return ratio;
}

void compare_with_ballast(row *r, grounds *g, const options *opts)
{
    const engine *kind = g->ballast.engine;

    grounds_load_ballast(g, opts);
    if (!opts->only_raw)
        r->pawl_paired = weigh(&side_pawl, r, g, &g->pawl, opts, &r->pawl_rate, &r->pawl_reference);
    if (!opts->only_pawl)
        r->raw_paired = weigh(kind->raw, r, g, &g->raw, opts, &r->raw_rate, &r->raw_reference);
}
