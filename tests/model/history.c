/* tests/model/history.c - one random history: who does what, in which order, and when. */
#include "history.h"

#include <stdlib.h>
#include <string.h>

#include "history_private.h"
#include "prng.h"

#define STEPS 3000
#define FIRST_CLOCK INT64_C(1000000000)
#define NEVER_US (INT64_MAX / 4)

int64_t history_random(history *h, int64_t below)
{
    return (int64_t)prng_below(&h->random, (size_t)below);
}

bool history_chance(history *h, int one_in)
{
    return history_random(h, one_in) == 0;
}

/* Take an id, read the clock and write, wait, commit or roll back: a few messages at a time. */
static void sender_step(history *h, actor *a)
{
    int64_t stamp = server_clock(&h->server);

    switch (a->step) {
    case 0:
        a->count = 1 + (int)history_random(h, 3);
        a->late = h->world.long_writers && history_chance(h, 12);
        if (a->late)
            a->count += (int)history_random(h, 6);
        if (h->rule == RULE_CLOCK_FIRST)
            a->time = stamp;
        a->step = 1;
        break;
    case 1:
        a->xid = server_begin(&h->server);
        a->step = 2;
        break;
    case 2:
        if (h->rule == RULE_CLOCK_FIRST)
            stamp = a->time;
        if (h->rule == RULE_PAST_DUE && history_chance(h, 4))
            stamp -= 1000 + history_random(h, 20000);
        else if (history_chance(h, 4))
            stamp += history_random(h, 10000);
        server_insert(&h->server, a->xid, (int)history_random(h, LANES), stamp);
        if (stamp > h->latest_stamp)
            h->latest_stamp = stamp;
        if (a->late && history_chance(h, 2))
            a->busy_until = h->server.elapsed + history_random(h, 120000);
        if (--a->count == 0)
            a->step = 3;
        break;
    case 3:
        server_end(&h->server, a->xid, !history_chance(h, 8));
        *a = (actor){.busy_until = h->server.elapsed + history_random(h, 4000)};
        break;
    }
}

/* Somebody else's transaction, which has nothing to do with the queue but its id. */
static void writer_step(history *h, actor *a)
{
    if (a->xid == 0) {
        a->xid = server_begin(&h->server);
        if ((int)h->server.running_count > h->outcome.most_running)
            h->outcome.most_running = (int)h->server.running_count;
        a->busy_until = h->server.elapsed + (h->world.long_writers && history_chance(h, 4)
                                                 ? history_random(h, 250000)
                                                 : history_random(h, 3000));
    } else {
        server_end(&h->server, a->xid, !history_chance(h, 3));
        *a = (actor){.busy_until = h->server.elapsed + history_random(h, 8000)};
    }
}

/* Leases that ran out are ready again, with a new stamp. */
static void reaper_step(history *h, actor *a)
{
    if (a->step == 0) {
        a->xid = server_begin(&h->server);
        a->step = 1;
    } else if (a->step == 1) {
        snapshot at = server_snapshot(&h->server, a->xid);
        int64_t now = server_clock(&h->server);

        for (int row = 0; row < h->server.row_count; row++) {
            const row_version *v = server_visible(&h->server, &at, a->xid, row);
            if (v && v->lease_until != 0 && v->lease_until <= now &&
                v == server_newest(&h->server, row) && !server_locked(&h->server, row, a->xid))
                server_change(&h->server, a->xid, row, h->rule == RULE_NO_STAMP ? v->run_at : now,
                              0, false);
        }
        a->step = 2;
    } else {
        server_end(&h->server, a->xid, !history_chance(h, 6));
        *a = (actor){.busy_until = h->server.elapsed + history_random(h, 10000)};
    }
}

static void fail_over(history *h)
{
    int64_t lost = history_random(h, 30);
    int64_t first = h->server.next_xid - lost;

    server_fail_over(&h->server, first < 3 ? 3 : first);
    /* Who has only just begun goes on, on a connection to the new server. */
    for (int i = 0; i < THREADS; i++)
        if (h->workers[i].actor.xid != 0 || h->workers[i].actor.step == 0)
            worker_reset(&h->workers[i]);
    for (int i = 0; i < SENDERS; i++)
        h->senders[i] = (actor){0};
    for (int i = 0; i < WRITERS; i++)
        h->writers[i] = (actor){0};
    memset(h->crowd, 0, sizeof h->crowd);
    h->reaper = (actor){0};
    for (int i = 0; i < STORES && h->rule != RULE_KEEP_ALL; i++)
        h->connections[i]++;
    memset(h->passed_at, 0, sizeof h->passed_at);
}

/*
 * Backwards. When nobody claims until the clock is ahead again, nobody can notice; otherwise it is
 * so far that somebody must.
 */
static void step_clock(history *h)
{
    int64_t back = history_random(h, 40000);

    if (h->world.clock == CLOCK_STEPS_SEEN ||
        (h->world.clock == CLOCK_STEPS && history_chance(h, 2))) {
        h->server.step -= 60000 + back;
        return;
    }
    h->server.step -= back;
    for (int i = 0; i < THREADS; i++)
        h->workers[i].actor.busy_until = h->server.elapsed + back + 1000;
}

/* What happens to everybody. */
static void events(history *h)
{
    if (h->world.clock != CLOCK_STEADY && history_chance(h, 700))
        step_clock(h);
    if (h->world.fail_overs && history_chance(h, 400))
        fail_over(h);
    if (h->rule != RULE_KEEP_ALL && history_chance(h, 5000))
        h->connections[history_random(h, STORES)]++;
}

static actor *pick(history *h, int *ret_worker)
{
    int64_t n = history_random(h, 3 * THREADS + SENDERS + WRITERS + 1);

    *ret_worker = -1;
    if (h->world.crowded && history_chance(h, 3))
        return &h->crowd[history_random(h, CROWD)];
    if (n < 3 * THREADS) {
        *ret_worker = (int)(n % THREADS);
        return &h->workers[*ret_worker].actor;
    }
    n -= 2 * THREADS;
    if (n < THREADS + SENDERS)
        return &h->senders[n - THREADS];
    if (n < THREADS + SENDERS + WRITERS)
        return &h->writers[n - THREADS - SENDERS];
    return &h->reaper;
}

static void history_step(history *h)
{
    int number;
    actor *a = pick(h, &number);

    h->server.elapsed += 1 + history_random(h, history_chance(h, 100) ? 5000 : 150);
    events(h);
    if (a->busy_until > h->server.elapsed)
        return;
    if (number >= 0)
        worker_step(h, &h->workers[number]);
    else if (a >= h->senders && a < h->senders + SENDERS)
        sender_step(h, a);
    else if (a == &h->reaper)
        reaper_step(h, a);
    else
        writer_step(h, a);
    /* Now and then one is stopped in the middle of a transaction, sometimes for longer than a
     * transaction is waited for. */
    if (history_chance(h, 60))
        a->busy_until = h->server.elapsed + history_random(h, history_chance(h, 4) ? 60000 : 5000);
}

static int count_ready(const history *h)
{
    snapshot at = server_snapshot(&h->server, 0);
    int ready = 0;

    for (int row = 0; row < h->server.row_count; row++) {
        const row_version *v = server_visible(&h->server, &at, 0, row);
        ready += v && v->lease_until == 0;
    }
    return ready;
}

/* Everybody ends what he does; then one worker goes on alone until it finds nothing for longer than
 * is promised. */
static void drain(history *h)
{
    worker *w = &h->workers[0];
    int64_t patience = SWEEP_US + 6 * h->longest_call;
    int64_t until;

    while (h->server.running_count > 0)
        server_end(&h->server, h->server.running[0], true);
    for (int i = 0; i < THREADS; i++)
        worker_reset(&h->workers[i]);
    h->draining = true;
    do /* a step at the very end is seen, if it is to be */
        worker_step(h, w);
    while (w->actor.step != 0);
    while (h->world.clock != CLOCK_STEADY && server_clock(&h->server) < h->latest_stamp)
        h->server.elapsed += 1000; /* what was stamped before a step is due only then */
    until = h->server.elapsed + patience;
    while (w->actor.step != 0 || (h->server.elapsed < until && count_ready(h) > 0)) {
        h->server.elapsed += w->actor.step == 0 ? 5000 : 50;
        w->held_count = 0;
        worker_step(h, w);
        if (w->actor.step == 0 && w->taken_count > 0)
            until = h->server.elapsed + patience;
    }
    h->outcome.left = count_ready(h);
}

static void init(history *h, uint64_t seed, model_rule rule, const model_world *world)
{
    pawli_cursor_limits limits = pawli_cursor_usual;

    memset(h, 0, offsetof(history, server));
    memset((char *)h + offsetof(history, cursors), 0, sizeof *h - offsetof(history, cursors));
    h->random = seed;
    h->rule = rule;
    h->world = *world;
    server_init(&h->server, FIRST_CLOCK);
    limits.long_us = world->long_us > 0 ? world->long_us : NEVER_US;
    limits.sweep_us = world->sweeps ? SWEEP_US : NEVER_US;
    limits.sweep_share = 2; /* small, so that a short history can tell */
    limits.again_us = AGAIN_US;
    limits.again_share = 1;
    limits.forget_us = FORGET_US;
    for (int i = 0; i < STORES; i++)
        pawli_cursor_init(&h->cursors[i], &limits);
    for (int i = 0; i < THREADS; i++)
        h->workers[i].store = world->one_store ? 0 : i % STORES;
    h->workers[THREADS - 1].foreign = true;
}

outcome history_run(uint64_t seed, model_rule rule, const model_world *world)
{
    static history h; /* large; one history at a time */

    init(&h, seed, rule, world);
    for (int i = 0; i < STEPS && !server_is_full(&h.server); i++)
        history_step(&h);
    drain(&h);
    for (int i = 0; i < THREADS; i++)
        pawli_cursor_scan_done(&h.workers[i].look);
    for (int i = 0; i < STORES; i++)
        pawli_cursor_done(&h.cursors[i]);
    return h.outcome;
}
