/* tests/model/simulated_worker.c - a worker thread: claims in steps, answers what it holds, counts
 * misses. */
#include <string.h>

#include "history_private.h"

#define FIXED_LAG_US 2000

enum { IDLE, READ_CLOCK, TAKE_XID, READ_NOW, TAKE_ROWS, LOOK_ROUND, COMMIT, LEARN, ANSWER };

static bool is_ready(const row_version *v, int64_t now)
{
    return v && v->lease_until == 0 && v->run_at <= now;
}

void worker_reset(worker *w)
{
    w->actor = (actor){.busy_until = w->actor.busy_until};
    w->held_count = 0;
    pawli_cursor_scan_done(&w->look);
}

static pawl_mono mono(const history *h)
{
    return (pawl_mono){h->server.elapsed};
}

/* Where the look starts in a lane; 0: at the beginning. */
static int64_t start_in(const history *h, const worker *w, int lane)
{
    if (w->foreign)
        return 0;
    if (h->rule == RULE_LAST_TAKEN)
        return h->last_taken[w->store][lane];
    if (h->rule == RULE_FIXED_LAG)
        return h->last_claim[w->store] > 0 ? h->last_claim[w->store] - FIXED_LAG_US : 0;
    for (size_t i = 0; i < w->look.start_count; i++)
        if (w->look.starts[i].lane == lane)
            return w->look.starts[i].since.us;
    return 0;
}

static void begin_claim(history *h, worker *w)
{
    int first = (int)history_random(h, LANES);

    for (int i = 0; i < LANES; i++)
        w->order[i] = (first + i) % LANES;
    w->limit = 1 + (int)history_random(h, history_chance(h, 2) ? 2 : LIMIT_MAX);
    w->taken_count = 0;
    w->passed_count = 0;
    pawli_cursor_scan_done(&w->look);
    if (!w->foreign)
        pawli_cursor_begin(&h->cursors[w->store], h->connections[w->store], mono(h), w->second,
                           &w->look);
    w->actor.step = READ_CLOCK;
}

/* The versions that a new snapshot shows as ready. */
static void see_ready(const history *h, worker *w, const snapshot *at)
{
    w->ready_count = 0;
    for (int row = 0; row < h->server.row_count; row++) {
        const row_version *v = server_visible(&h->server, at, w->actor.xid, row);
        if (is_ready(v, w->now))
            w->ready[w->ready_count++] = v;
    }
}

/* A row that is there for this look, and that it does not see because of where it started. */
static void note_passed(history *h, worker *w, int lane, int64_t since)
{
    for (int i = 0; i < w->ready_count; i++) {
        const row_version *v = w->ready[i];
        if (v->lane == lane && v->run_at < since && v == server_newest(&h->server, v->row) &&
            !server_locked(&h->server, v->row, w->actor.xid))
            w->passed[w->passed_count++] = v->row;
    }
}

/* The first ready row of the lane after `after` in the lane's order; NULL: none is left. */
static const row_version *next_ready(const worker *w, int lane, int64_t since,
                                     const row_version *after)
{
    const row_version *best = NULL;

    for (int i = 0; i < w->ready_count; i++) {
        const row_version *v = w->ready[i];
        if (v->lane != lane || v->run_at < since)
            continue;
        if (after &&
            (v->run_at < after->run_at || (v->run_at == after->run_at && v->row <= after->row)))
            continue;
        if (!best || v->run_at < best->run_at)
            best = v;
    }
    return best;
}

/* FOR UPDATE SKIP LOCKED: a row that changed since the snapshot is judged by its newest version. */
static void take_from(history *h, worker *w, int lane)
{
    int64_t since = start_in(h, w, lane);
    const row_version *v = NULL;

    note_passed(h, w, lane, since);
    while (w->taken_count < w->limit && (v = next_ready(w, lane, since, v))) {
        const row_version *newest = server_newest(&h->server, v->row);
        if (server_locked(&h->server, v->row, w->actor.xid) || !is_ready(newest, w->now) ||
            newest->run_at < since)
            continue;
        server_lock(&h->server, v->row, w->actor.xid);
        w->taken[w->taken_count++] = v->row;
        if (!w->foreign && newest->run_at > h->last_taken[w->store][lane] &&
            h->rule == RULE_LAST_TAKEN)
            h->last_taken[w->store][lane] = newest->run_at;
    }
}

static void take_rows(history *h, worker *w)
{
    snapshot at = server_snapshot(&h->server, w->actor.xid);

    see_ready(h, w, &at);
    for (w->reached = 0; w->reached < LANES && w->taken_count < w->limit; w->reached++)
        take_from(h, w, w->order[w->reached]);
    for (int i = 0; i < w->taken_count; i++) {
        const row_version *v = server_newest(&h->server, w->taken[i]);
        server_change(&h->server, w->actor.xid, v->row, v->run_at, w->now + LEASE_US, false);
    }
}

/* The oldest row of the lane that is ready now, whether locked or not. */
static pawl_wall oldest_in(const history *h, const worker *w, int lane)
{
    int64_t since = start_in(h, w, lane);
    const row_version *v = next_ready(w, lane, since, NULL);

    while (v && h->rule == RULE_SKIP_LOCKED && server_locked(&h->server, v->row, w->actor.xid))
        v = next_ready(w, lane, since, v);
    return (pawl_wall){v ? v->run_at : 0};
}

static void look_round(history *h, worker *w)
{
    snapshot at = server_snapshot(&h->server, w->actor.xid);
    const pawli_cursor *cursor = &h->cursors[w->store];

    see_ready(h, w, &at);
    pawli_cursor_scan_restart(&w->look);
    pawli_cursor_scan_epoch(&w->look, (pawl_wall){w->actor.time},
                            h->rule == RULE_EPOCH_OF_XMAX ? w->next_xid : w->actor.xid);
    /* As the statement does: what it does not list it does not know to have ended. */
    pawli_cursor_scan_next(
        &w->look, h->rule == RULE_UNLISTED || at.next < w->actor.xid ? at.next : w->actor.xid);
    for (size_t i = 0; i < at.running_count && at.running[i] < w->actor.xid; i++)
        pawli_cursor_scan_running(&w->look, at.running[i]);
    for (size_t i = 0; i < cursor->awaited_count && h->rule == RULE_NO_AGAIN; i++)
        pawli_cursor_scan_running(&w->look, cursor->awaited[i]);
    for (int i = 0; i < w->reached; i++)
        pawli_cursor_scan_lane(&w->look, w->order[i], oldest_in(h, w, w->order[i]));
}

/*
 * The longest call that has to do with a message that is passed over since then: one that was under
 * way, or whose cost still put off the next look.
 */
static int64_t slowest_since(const history *h, int64_t since)
{
    const pawli_cursor_limits *limits = &h->cursors[0].limits;
    int64_t share = h->world.sweeps ? limits->sweep_share : limits->again_share;
    int64_t slowest = 0;

    for (int i = 0; i < h->call_count; i++)
        if (h->calls[i].end + share * h->calls[i].spent >= since && h->calls[i].spent > slowest)
            slowest = h->calls[i].spent;
    for (int i = 0; i < THREADS; i++) {
        int64_t spent = h->server.elapsed - h->workers[i].started;
        if (h->workers[i].actor.step != IDLE && spent > slowest)
            slowest = spent;
    }
    return slowest;
}

/* How long one store may pass over a message, by what the documentation says. */
static int64_t promised(const history *h, int64_t since)
{
    const pawli_cursor_limits *limits = &h->cursors[0].limits;
    int64_t slowest = slowest_since(h, since);
    int64_t bound = limits->again_share * slowest;

    if (bound < limits->again_us)
        bound = limits->again_us;
    if (h->world.sweeps && bound < limits->sweep_us)
        bound = limits->sweep_us;
    if (h->world.sweeps && bound < limits->sweep_share * slowest)
        bound = limits->sweep_share * slowest;
    return bound + 3 * slowest; /* calls that were under way */
}

static void judge_claim(history *h, const worker *w)
{
    for (int i = 0; i < w->passed_count; i++) {
        int row = w->passed[i];
        const row_version *v = server_newest(&h->server, row);
        int64_t *since = &h->passed_at[w->store][row];
        if (*since == 0 || !v || h->passed_stamp[w->store][row] != v->run_at)
            *since = h->server.elapsed;
        h->passed_stamp[w->store][row] = v ? v->run_at : 0;
        h->outcome.missed++;
        if (w->started - *since > h->outcome.max_wait_us)
            h->outcome.max_wait_us = w->started - *since;
        if (w->started - *since - promised(h, *since) > h->outcome.too_long_us)
            h->outcome.too_long_us = w->started - *since - promised(h, *since);
    }
}

static void finish_call(history *h, worker *w)
{
    int64_t spent = h->server.elapsed - w->started;

    if (spent > h->longest_call)
        h->longest_call = spent;
    if (h->call_count < CALLS_MAX)
        h->calls[h->call_count++] = (call){h->server.elapsed, spent};
    judge_claim(h, w);
    if (!w->foreign)
        h->last_claim[w->store] = w->now;
    w->second = false;
    w->actor = (actor){.busy_until = w->actor.busy_until};
}

static bool fails_to_commit(history *h, const worker *w)
{
    if (h->draining)
        return false;
    if (w->foreign)
        return true;
    return history_chance(h, h->rule == RULE_UNCOMMITTED ? 6 : 150);
}

static void commit(history *h, worker *w)
{
    bool fails = fails_to_commit(h, w);
    bool answer_lost = !h->draining && history_chance(h, 300);

    if (h->rule == RULE_UNCOMMITTED && !w->foreign)
        (void)pawli_cursor_learn(&h->cursors[w->store], &w->look, h->connections[w->store],
                                 mono(h));
    server_end(&h->server, w->actor.xid, !fails);
    w->actor.xid = 0;
    h->outcome.claims++;
    if (!fails) {
        h->outcome.taken += w->taken_count;
        for (int i = 0; i < w->taken_count; i++)
            for (int store = 0; store < STORES; store++)
                h->passed_at[store][w->taken[i]] = 0;
        for (int i = 0; i < w->taken_count && w->held_count < HELD_MAX && !answer_lost; i++)
            w->held[w->held_count++] = w->taken[i];
    }
    if (fails || answer_lost) {
        if (h->rule != RULE_UNCOMMITTED && !w->foreign)
            pawli_cursor_drop(&h->cursors[w->store]);
        w->passed_count = 0;
        finish_call(h, w);
        return;
    }
    w->actor.step = LEARN;
}

/* What is no longer awaited has ended, unless all positions were dropped with it. */
static void check_awaited(history *h, const pawli_cursor *cursor, const int64_t *before,
                          size_t count)
{
    for (size_t i = 0; i < count && cursor->lane_count > 0; i++) {
        bool kept = false;
        for (size_t k = 0; k < cursor->awaited_count; k++)
            kept = kept || cursor->awaited[k] == before[i];
        h->outcome.still_running += !kept && h->server.xids[before[i]] == XID_RUNNING;
    }
}

static bool learn_from(history *h, worker *w)
{
    pawli_cursor *cursor = &h->cursors[w->store];
    int64_t before[PAWLI_CURSOR_RUNNING];
    size_t count = cursor->awaited_count;

    memcpy(before, cursor->awaited, count * sizeof *before);
    bool again = pawli_cursor_learn(cursor, &w->look, h->connections[w->store], mono(h));
    check_awaited(h, cursor, before, count);
    return again;
}

static void learn(history *h, worker *w)
{
    if (h->rule == RULE_CLOCK_BLIND)
        w->look.seen = PAWL_TIME_UNSET;
    bool again = h->rule != RULE_UNCOMMITTED && learn_from(h, w);

    if (again && w->taken_count == 0 && !w->second) {
        w->second = true;
        begin_claim(h, w);
        return;
    }
    finish_call(h, w);
}

/* Acknowledge, abandon with a delay, release, or fall silent and leave it to the reaper. */
static void answer_claim(history *h, worker *w)
{
    int row = w->held[w->held_count - 1];
    const row_version *v = server_newest(&h->server, row);
    int64_t delay = history_chance(h, 2) ? history_random(h, 5000) : 0;

    w->held_count--;
    w->actor.step = IDLE;
    if (!v || v->lease_until == 0 || server_locked(&h->server, row, 0) || history_chance(h, 10))
        return;
    w->actor.xid = server_begin(&h->server);
    if (history_chance(h, 2))
        server_change(&h->server, w->actor.xid, row, 0, 0, true);
    else
        server_change(&h->server, w->actor.xid, row,
                      h->rule == RULE_NO_STAMP ? v->run_at : server_clock(&h->server) + delay, 0,
                      false);
    w->actor.step = ANSWER;
}

static void start_worker(history *h, worker *w)
{
    if (w->held_count > 0 && (history_chance(h, 2) || w->held_count > HELD_MAX / 2)) {
        answer_claim(h, w);
        return;
    }
    w->started = h->server.elapsed;
    w->second = false;
    begin_claim(h, w);
}

void worker_step(history *h, worker *w)
{
    switch (w->actor.step) {
    case IDLE:
        start_worker(h, w);
        break;
    case READ_CLOCK:
        w->actor.time = server_clock(&h->server);
        w->actor.step = TAKE_XID;
        break;
    case TAKE_XID:
        w->next_xid = server_snapshot(&h->server, 0).next;
        w->actor.xid = server_begin(&h->server);
        w->actor.step = READ_NOW;
        break;
    case READ_NOW:
        w->now = server_clock(&h->server);
        w->actor.step = TAKE_ROWS;
        break;
    case TAKE_ROWS:
        take_rows(h, w);
        w->actor.step = LOOK_ROUND;
        break;
    case LOOK_ROUND:
        look_round(h, w);
        w->actor.step = COMMIT;
        break;
    case COMMIT:
        commit(h, w);
        break;
    case LEARN:
        learn(h, w);
        break;
    default:
        server_end(&h->server, w->actor.xid, !history_chance(h, 8));
        w->actor.xid = 0;
        w->actor.step = IDLE;
        break;
    }
}
