/* bench/plan.c - the list of everything that is measured. */
#include "plan.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basics.h"
#include "delivery.h"
#include "shift.h"
#include "timer.h"

#define ROWS_MAX 200
#define BAR_RAW 0.8
#define BAR_BALLAST 0.9
#define BAR_HELD 0.8
#define BAR_TEN 0.9
#define BAR_MEMORY_MS 1.0
#define BAR_STORED_MS 10.0
#define BAR_START_MS 1000.0

static const target targets[] = {
    {"sqlite-full", "SQLite, synchronous=FULL", "full", &engine_sqlite, PAWL_DURABILITY_FULL},
    {"sqlite-normal", "SQLite, synchronous=NORMAL", "normal", &engine_sqlite,
     PAWL_DURABILITY_NORMAL},
    {"postgres", "PostgreSQL", "server", &engine_postgres, PAWL_DURABILITY_FULL},
    {"memory", "Timers in memory", "none", &engine_memory, PAWL_DURABILITY_NORMAL},
};

static const char *plural(int count)
{
    return count == 1 ? "" : "s";
}

static void name_worker_row(row *r)
{
    const char *target_id = r->target->id;
    const char *processes = r->two_processes ? "process" : "thread";

    if (r->kind == ROW_WORKER) {
        snprintf(r->id, sizeof r->id, "%s/worker-%zu", target_id, r->load.batch);
        snprintf(r->text, sizeof r->text, "through the worker, batches of %zu", r->load.batch);
    } else if (r->kind == ROW_LATENCY) {
        snprintf(r->id, sizeof r->id, "%s/worker-latency-%s", target_id, processes);
        snprintf(r->text, sizeof r->text, "sent by another %s", processes);
    } else {
        snprintf(r->id, sizeof r->id, "%s/worker-idle", target_id);
        snprintf(r->text, sizeof r->text, "a worker without messages");
    }
}

static void name_row(row *r)
{
    static const char *const measures[] = {"enqueue", "claim", "fused", "receive"};
    static const char *const disturbances[] = {"", "snapshot", "writer"};
    static const char *const texts[] = {"", "a snapshot held open",
                                        "a writing transaction held open"};
    int batch = (int)r->load.batch, callers = r->load.callers;
    char *text = r->text;
    size_t size = sizeof r->text;

    if (r->kind == ROW_HELD) {
        snprintf(r->id, sizeof r->id, "%s/held-%s", r->target->id, disturbances[r->disturbance]);
        snprintf(text, size, "claim+ack %d, %d workers, %s", batch, callers, texts[r->disturbance]);
        return;
    }
    if (r->kind == ROW_MEMORY) {
        snprintf(r->id, sizeof r->id, "%s/%smemory", r->target->id, r->by_worker ? "worker-" : "");
        if (r->by_worker)
            snprintf(text, size, "the worker, batches of %d", batch);
        else
            snprintf(text, size, "claim+ack %d, 1 worker", batch);
        return;
    }
    if (r->kind == ROW_WORKER || r->kind == ROW_LATENCY || r->kind == ROW_IDLE) {
        name_worker_row(r);
        return;
    }
    snprintf(r->id, sizeof r->id, "%s/%s%s-%dx%d", r->target->id,
             r->kind == ROW_BALLAST ? "ballast-" : "", measures[r->load.kind], batch, callers);
    if (r->load.kind == LOAD_RECEIVE)
        snprintf(text, size, "receive and write a row, %d caller%s", callers, plural(callers));
    else if (r->load.kind == LOAD_ENQUEUE)
        snprintf(text, size, "enqueue %d, %d caller%s", batch, callers, plural(callers));
    else
        snprintf(text, size, "%s %d, %d worker%s",
                 r->load.kind == LOAD_CLAIM_ACK ? "claim+ack" : "ack and claim in one", batch,
                 callers, plural(callers));
    if (r->topics > 1) {
        size_t length = strlen(r->id);
        snprintf(r->id + length, sizeof r->id - length, "-topics-%d", r->topics);
        length = strlen(text);
        snprintf(text + length, size - length, ", %d topics", r->topics);
    }
}

static void name_job_row(row *r)
{
    snprintf(r->id, sizeof r->id, "%s/job-tick-%s", r->target->id, r->many_jobs ? "100k" : "10");
    snprintf(r->text, sizeof r->text, "a look at ten jobs that are due");
}

static void name_timer_row(row *r)
{
    static const char *const ids[] = {"schedule", "claim-none", "claim-100", "start"};
    static const char *const texts[] = {"schedule", "a claim that finds nothing due",
                                        "a claim that finds 100 due",
                                        "from the due time to the handler's start"};
    const char *size = r->pending_part == 1 ? "1m" : r->pending_part == 10 ? "100k" : "1k";

    snprintf(r->id, sizeof r->id, "%s/timer-%s-%s", r->target->id, ids[r->timer], size);
    snprintf(r->text, sizeof r->text, "%s", texts[r->timer]);
}

static void name_delivery_row(row *r)
{
    if (r->kind == ROW_TEN) {
        snprintf(r->id, sizeof r->id, "%s/delivery-ten-%s", r->target->id,
                 r->silent ? "silent" : "refused");
        snprintf(r->text, sizeof r->text, "8 of 10 destinations; one is slow, one %s",
                 r->silent ? "never answers" : "refuses");
        return;
    }
    snprintf(r->id, sizeof r->id, "%s/delivery-%s-%d", r->target->id,
             r->over_unix ? "unix" : "http", r->load.callers);
    snprintf(r->text, sizeof r->text, "%s, %d in flight",
             r->over_unix ? "over a unix socket" : "over HTTP", r->load.callers);
}

static void plan_add(plan *self, row r)
{
    r.topics = r.topics ? r.topics : 1;
    if (r.kind == ROW_TIMER)
        name_timer_row(&r);
    else if (r.kind == ROW_JOB)
        name_job_row(&r);
    else if (r.kind == ROW_DELIVERY || r.kind == ROW_TEN)
        name_delivery_row(&r);
    else
        name_row(&r);
    if (self->count == ROWS_MAX)
        die("more than %d rows", ROWS_MAX);
    self->rows[self->count++] = r;
}

static void add_compared(plan *self, const target *t)
{
    static const int callers[] = {1, 8, 64};
    static const size_t batches[] = {1, 50, 500};
    static const int workers[] = {1, 4, 8};
    static const load fused[] = {{LOAD_ACK_CLAIM, 1, 1},
                                 {LOAD_ACK_CLAIM, 1, 50},
                                 {LOAD_ACK_CLAIM, 8, 50},
                                 {LOAD_ACK_CLAIM, 1, 500}};
    bool full = t->engine == &engine_sqlite && t->setting == PAWL_DURABILITY_FULL;

    for (size_t i = 0; i < 3; i++)
        plan_add(self, (row){.target = t,
                             .load = {LOAD_ENQUEUE, callers[i], 1},
                             .bar = full && callers[i] == 64 ? BAR_RAW : 0});
    for (size_t batch = 100; batch <= 1000; batch *= 10)
        plan_add(self, (row){.target = t, .load = {LOAD_ENQUEUE, 1, batch}, .bar = BAR_RAW});
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++)
            plan_add(self, (row){.target = t,
                                 .load = {LOAD_CLAIM_ACK, workers[j], batches[i]},
                                 .bar = batches[i] > 1 ? BAR_RAW : 0});
    for (size_t i = 0; i < sizeof fused / sizeof fused[0]; i++)
        plan_add(self,
                 (row){.target = t, .load = fused[i], .bar = fused[i].batch > 1 ? BAR_RAW : 0});
    for (int receivers = 1; receivers <= 8; receivers *= 8)
        plan_add(self, (row){.target = t, .load = {LOAD_RECEIVE, receivers, 1}});
    for (int topics = 10; topics <= 1000; topics *= 100)
        plan_add(
            self,
            (row){.target = t, .load = {LOAD_CLAIM_ACK, 1, 50}, .topics = topics, .bar = BAR_RAW});
}

static void add_special(plan *self, const options *opts, const target *t)
{
    static const load among[] = {
        {LOAD_CLAIM_ACK, 1, 50}, {LOAD_CLAIM_ACK, 1, 500}, {LOAD_ENQUEUE, 1, 100}};

    for (size_t i = 0; i < 3; i++)
        plan_add(self,
                 (row){.target = t, .kind = ROW_BALLAST, .load = among[i], .bar = BAR_BALLAST});
    if (t->engine == &engine_postgres) {
        row held = {
            .target = t, .kind = ROW_HELD, .load = {LOAD_CLAIM_ACK, 4, 50}, .bar = BAR_HELD};

        held.disturbance = DISTURBANCE_SNAPSHOT;
        plan_add(self, held);
        held.disturbance = DISTURBANCE_WRITER;
        plan_add(self, held);
    }
    if (t->setting == PAWL_DURABILITY_FULL && !opts->only_raw)
        plan_add(self, (row){.target = t, .kind = ROW_MEMORY, .load = {LOAD_CLAIM_ACK, 1, 500}});
}

static void add_worker(plan *self, const options *opts, const target *t)
{
    if (t->setting != PAWL_DURABILITY_FULL)
        return;
    for (size_t batch = SHIFT_BATCH; batch <= 500; batch *= 10)
        plan_add(self, (row){.target = t,
                             .kind = ROW_WORKER,
                             .load = {LOAD_ACK_CLAIM, 1, batch},
                             .bar = BAR_RAW});
    if (t->engine == &engine_sqlite)
        plan_add(self, (row){.target = t, .kind = ROW_LATENCY});
    plan_add(self, (row){.target = t, .kind = ROW_LATENCY, .two_processes = true});
    if (opts->only_raw)
        return;
    plan_add(self, (row){.target = t,
                         .kind = ROW_MEMORY,
                         .by_worker = true,
                         .load = {LOAD_ACK_CLAIM, 1, SHIFT_BATCH}});
    plan_add(self, (row){.target = t, .kind = ROW_IDLE});
}

static void add_timers(plan *self, const target *t)
{
    static const int parts[] = {1000, 10, 1};
    row r = {.target = t, .kind = ROW_TIMER, .timer = TIMER_SCHEDULE};

    r.bar = t->engine == &engine_memory ? BAR_MEMORY_MS : BAR_STORED_MS;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        r.pending_part = parts[i];
        plan_add(self, r);
    }
    if (t->engine == &engine_memory)
        return;
    r.bar = 0;
    r.timer = TIMER_CLAIM_NONE;
    plan_add(self, r);
    r.timer = TIMER_CLAIM_FOUND;
    plan_add(self, r);
    r.timer = TIMER_START;
    r.bar = BAR_START_MS;
    plan_add(self, r);
}

static void add_deliveries(plan *self, const options *opts, const target *t)
{
    row one = {.target = t, .kind = ROW_DELIVERY, .load = {.callers = 16}};
    row ten = {.target = t, .kind = ROW_TEN, .load = {.callers = 16}, .bar = BAR_TEN};

    plan_add(self, one);
    one.over_unix = true;
    plan_add(self, one);
    one.over_unix = false;
    one.load.callers = 64;
    plan_add(self, one);
    if (opts->only_raw)
        return;
    plan_add(self, ten);
    ten.silent = true;
    plan_add(self, ten);
}

/* Keep the row with that id, or else all that the pattern matches. */
static void choose(plan *self, const char *only)
{
    char pattern[256];
    bool exact = false;
    size_t kept = 0;

    snprintf(pattern, sizeof pattern, "*%s*", only);
    for (size_t i = 0; i < self->count; i++)
        exact = exact || strcmp(self->rows[i].id, only) == 0;
    for (size_t i = 0; i < self->count; i++) {
        const char *id = self->rows[i].id;

        if (exact ? strcmp(id, only) == 0 : fnmatch(pattern, id, 0) == 0)
            self->rows[kept++] = self->rows[i];
    }
    self->count = kept;
}

plan plan_make(const options *opts)
{
    plan self = {.rows = allocate(ROWS_MAX, sizeof(row))};

    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        const target *t = &targets[i];

        if (!*t->engine || (t->engine == &engine_postgres && !opts->postgres))
            continue;
        if (t->engine != &engine_memory) {
            add_compared(&self, t);
            add_special(&self, opts, t);
            add_worker(&self, opts, t);
        }
        if ((t->setting == PAWL_DURABILITY_FULL || t->engine == &engine_memory) && !opts->only_raw)
            add_timers(&self, t);
        if (t->engine != &engine_memory && t->setting == PAWL_DURABILITY_FULL && !opts->only_raw &&
            !opts->only_pawl)
            for (int many = 0; many < 2; many++)
                plan_add(&self, (row){.target = t, .kind = ROW_JOB, .many_jobs = many != 0});
        if (t->engine != &engine_memory && t->setting == PAWL_DURABILITY_FULL)
            add_deliveries(&self, opts, t);
    }
    if (opts->only)
        choose(&self, opts->only);
    if (self.count == 0)
        die("no row to measure; --list says what there is");
    return self;
}

void plan_free(plan *self)
{
    free(self->rows);
    *self = (plan){0};
}

double plan_duration(const plan *self, const options *opts)
{
    int sides = opts->only_pawl || opts->only_raw ? 1 : 2;
    double total = 0;
    bool undisturbed = false;
    const engine *loaded = NULL;

    for (size_t i = 0; i < self->count; i++) {
        const row *r = &self->rows[i];
        double rounds = (opts->rounds + 0.4) * opts->seconds;

        if (r->kind == ROW_HELD) {
            total += sides * opts->held_seconds * (undisturbed ? 1 : 2);
            undisturbed = true;
        } else if (r->kind == ROW_TIMER) {
            total += 5 + (double)opts->ballast / r->pending_part / 100000;
        } else if (r->kind == ROW_JOB) {
            total += r->many_jobs ? 10 : 4;
        } else if (r->kind == ROW_TEN) {
            options longer = delivery_ten_options(opts);

            total += 2 * (longer.rounds + 0.5) * (longer.seconds + 1);
        } else if (r->kind == ROW_MEMORY) {
            total += (double)opts->backlog / 15000;
        } else if (r->kind == ROW_LATENCY) {
            total += sides * opts->latency_rounds * (opts->letters + opts->warm_letters) / 190.0;
        } else if (r->kind == ROW_IDLE) {
            total += opts->idle_seconds + 4;
        } else {
            /* Claims need a backlog, which is made outside the rounds. */
            total += (r->kind == ROW_BALLAST ? 2 : 1) * sides * rounds *
                     (r->load.kind == LOAD_ENQUEUE || r->load.kind == LOAD_RECEIVE ? 1.1 : 1.5);
        }
        if ((r->kind == ROW_BALLAST || (r->kind == ROW_TIMER && r->pending_part == 1)) &&
            loaded != *r->target->engine) {
            loaded = *r->target->engine;
            total += (double)opts->ballast / 25000;
        }
    }
    return total;
}
