/*
 * tests/sequences/generate.c - random operations that are likely to matter.
 *
 * The generator reads the model, so that most results are for messages that are leased, clocks
 * often stop exactly where something ends, and ids are met again. Steps do not depend on each
 * other: a sequence from which some are left out is a sequence.
 */
#include "generate.h"

#include <string.h>

#include "prng.h"

#define CHOOSE(g, list) ((list)[below(g, sizeof(list) / sizeof(list)[0])])
#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS (60 * MINUTE_MS)
#define DAY_MS (24 * HOUR_MS)
#define CHECK_EVERY 9

static size_t below(generator *g, size_t bound)
{
    return prng_below(&g->state, bound);
}

static bool chance(generator *g, int percent)
{
    return below(g, 100) < (size_t)percent;
}

void generator_begin(generator *g, uint64_t seed, bool postgres, sequence *q)
{
    /* A plain day, and the eves of the clock changes in New York. */
    static const int64_t starts_us[] = {INT64_C(1767225600000000), INT64_C(1772884800000000),
                                        INT64_C(1793448000000000)};

    *g = (generator){.state = seed * UINT64_C(0x2545f4914f6cdd1d), .q = q};
    memset(q, 0, sizeof *q);
    q->seed = seed;
    q->start_us = CHOOSE(g, starts_us);
    q->steps_back = chance(g, 40);
    q->long_txs = chance(g, 40) && postgres;
    q->faults = chance(g, 25);
    g->length = 30 + below(g, 50);
}

/* ---- choosing messages ---- */

/* One that is in one of the states, if there is any. */
static int some_message(generator *g, const model *m, unsigned states)
{
    int found[MODEL_MESSAGES];
    size_t count = 0;

    for (int i = 0; i < MODEL_MESSAGES; i++)
        if (m->messages[i].present && (states & (1u << m->messages[i].state)) != 0)
            found[count++] = i;
    return count > 0 ? found[below(g, count)] : (int)below(g, MODEL_MESSAGES);
}

static int some_leased(generator *g, const model *m, int owner)
{
    int found[MODEL_MESSAGES];
    size_t count = 0;

    for (int i = 0; i < MODEL_MESSAGES; i++)
        if (m->messages[i].present && m->messages[i].state == PAWL_STATE_RUNNING &&
            m->messages[i].owner == owner)
            found[count++] = i;
    return count > 0 ? found[below(g, count)] : some_message(g, m, 1u << PAWL_STATE_RUNNING);
}

static int new_number(generator *g, const model *m)
{
    for (int tries = 0; tries < 8; tries++) {
        int number = (int)below(g, MODEL_MESSAGES);

        if (!m->messages[number].present)
            return number;
    }
    return (int)below(g, MODEL_MESSAGES);
}

/* ---- sending ---- */

static sending new_sending(generator *g, const model *m)
{
    static const int priorities[] = {0, 0, 0, 5, 9};
    static const int64_t ttls_ms[] = {-SECOND_MS, 1, 5 * SECOND_MS, MINUTE_MS, HOUR_MS, 3 * DAY_MS};
    static const int64_t leases_ms[] = {2 * SECOND_MS, 20 * SECOND_MS};
    static const int64_t waits_ms[] = {1, SECOND_MS, 30 * SECOND_MS, 2 * HOUR_MS, 2 * DAY_MS};
    sending s = {.number = new_number(g, m)};

    s.library_id = chance(g, 25);
    s.topic = (int)below(g, MODEL_TOPICS);
    s.priority = CHOOSE(g, priorities);
    s.content = (int)below(g, 3);
    if (chance(g, 15))
        s.due_ms = chance(g, 50) ? CHOOSE(g, waits_ms) : -CHOOSE(g, waits_ms);
    else if (chance(g, 15))
        s.delay_ms = CHOOSE(g, waits_ms);
    if (chance(g, 35))
        s.ttl_ms = CHOOSE(g, ttls_ms);
    if (s.ttl_ms < 0 && (s.due_ms != 0 || s.delay_ms != 0))
        s.ttl_ms = MINUTE_MS;
    if (chance(g, 50))
        s.max_attempts = 1 + (int)below(g, 3);
    if (chance(g, 20))
        s.lease_ms = CHOOSE(g, leases_ms);
    s.own_backoff = chance(g, 20);
    s.remote = chance(g, 15);
    s.correlation = (int)below(g, 3);
    return s;
}

static sending some_sending(generator *g, const model *m, const step *so_far)
{
    sending s = new_sending(g, m);

    if (so_far->sending_count > 0 && chance(g, 8)) {
        s = so_far->sendings[below(g, so_far->sending_count)];
        if (chance(g, 20))
            s.content = (s.content + 1) % 3; /* a conflict within the call */
        return s;
    }
    if (!chance(g, 20))
        return s;
    s.number = some_message(g, m, 0x3f);
    s.library_id = false;
    if (m->messages[s.number].present && chance(g, 75)) {
        s.topic = m->messages[s.number].sent.topic;
        s.content = m->messages[s.number].sent.content;
    }
    return s;
}

static bool same_sending(const sending *a, const sending *b)
{
    return a->number == b->number && a->library_id == b->library_id && a->topic == b->topic &&
           a->priority == b->priority && a->content == b->content && a->due_ms == b->due_ms &&
           a->delay_ms == b->delay_ms && a->ttl_ms == b->ttl_ms &&
           a->max_attempts == b->max_attempts && a->lease_ms == b->lease_ms &&
           a->own_backoff == b->own_backoff && a->remote == b->remote &&
           a->correlation == b->correlation;
}

/* Which of two with the same id and content is stored is undefined, so they are equal. */
static bool is_ambiguous(const step *s, const sending *one)
{
    for (size_t i = 0; i < s->sending_count; i++) {
        const sending *other = &s->sendings[i];

        if (other->number == one->number && other->topic == one->topic &&
            other->content == one->content && !same_sending(other, one))
            return true;
    }
    return false;
}

static void add_sendings(generator *g, const model *m, step *s)
{
    size_t count = chance(g, 50) ? 1 : 1 + below(g, STEP_SENDINGS);

    while (s->sending_count < count) {
        sending one = some_sending(g, m, s);

        if (is_ambiguous(s, &one))
            continue;
        s->sendings[s->sending_count++] = one;
    }
}

/* ---- the other kinds ---- */

static void add_picks(generator *g, const model *m, step *s)
{
    size_t count = 1 + below(g, STEP_PICKS);

    for (size_t i = 0; i < count; i++) {
        pick want = {some_leased(g, m, s->owner), PICK_MINE};

        if (chance(g, 35))
            want.kind = (pick_kind)below(g, PICK_KINDS);
        if (i > 0 && chance(g, 10))
            want = s->picks[i - 1];
        s->picks[s->pick_count++] = want;
    }
}

static void add_ids(generator *g, const model *m, step *s, unsigned states)
{
    size_t count = 1 + below(g, 4);

    for (size_t i = 0; i < count; i++)
        s->picks[s->pick_count++] =
            (pick){some_message(g, m, chance(g, 70) ? states : 0x3f), PICK_MINE};
}

static void add_filter(generator *g, const model *m, step *s)
{
    if (chance(g, 70))
        s->states = (unsigned)below(g, 1u << PAWL_STATE_COUNT);
    if (chance(g, 40))
        s->topic = (int)below(g, MODEL_TOPICS);
    if (chance(g, 30))
        s->correlation = (int)below(g, 3);
    if (chance(g, 30))
        s->before = some_message(g, m, 0x3f);
    s->limit = 1 + (int)below(g, 12);
}

/* Exactly where something becomes due or ends, or a microsecond before. */
static bool clock_to_an_end(generator *g, const model *m, int64_t *ret_us)
{
    const model_message *x = &m->messages[some_message(g, m, 3)];
    int64_t ends_us[] = {x->run_at_us, x->lease_until_us, x->expires_us};
    int64_t end_us = CHOOSE(g, ends_us);

    if (end_us <= m->now_us)
        return false;
    *ret_us = end_us - m->now_us - (chance(g, 30) ? 1 : 0);
    return true;
}

static void add_clock(generator *g, const model *m, step *s)
{
    static const int64_t ahead_ms[] = {1,          50,          150,    SECOND_MS,
                                       SECOND_MS,  5000,        30000,  61 * SECOND_MS,
                                       10 * 60000, 2 * HOUR_MS, DAY_MS, 8 * DAY_MS};
    static const int64_t back_ms[] = {1, 500, 10 * SECOND_MS, HOUR_MS, DAY_MS};

    if (g->q->steps_back && chance(g, 25))
        s->clock_us = -CHOOSE(g, back_ms) * 1000;
    else if (!chance(g, 40) || !clock_to_an_end(g, m, &s->clock_us))
        s->clock_us = CHOOSE(g, ahead_ms) * 1000;
}

static void add_claim(generator *g, step *s)
{
    static const int64_t leases_ms[] = {SECOND_MS, 10 * SECOND_MS, MINUTE_MS, HOUR_MS, 2 * DAY_MS};

    s->lease_ms = CHOOSE(g, leases_ms);
    s->limit = chance(g, 50) ? 1 + (int)below(g, 3) : 1 + (int)below(g, 20);
    s->remote = chance(g, 20);
    if (!s->remote && chance(g, 35))
        s->topics = 1 + (unsigned)below(g, (1u << MODEL_TOPICS) - 1);
}

static void add_answer(generator *g, const model *m, step *s)
{
    static const int64_t delays_ms[] = {1,
                                        SECOND_MS,
                                        10 * SECOND_MS,
                                        HOUR_MS,
                                        PAWL_DELAY_BY_POLICY,
                                        PAWL_DELAY_BY_POLICY,
                                        PAWL_DELAY_BY_POLICY};
    static const char *const errors[] = {NULL, "it broke", "no answer"};

    add_picks(g, m, s);
    add_claim(g, s);
    s->delay_ms = CHOOSE(g, delays_ms);
    s->error = CHOOSE(g, errors);
}

static void fill_step(generator *g, const model *m, step *s)
{
    static const int64_t keeps_ms[] = {0, MINUTE_MS, DAY_MS, PAWL_RETENTION_MS};

    switch (s->kind) {
    case STEP_SEND:
    case STEP_TX_SEND:
        add_sendings(g, m, s);
        break;
    case STEP_CLAIM:
        add_claim(g, s);
        break;
    case STEP_ACK_AND_CLAIM:
    case STEP_ACK:
    case STEP_ABANDON:
    case STEP_FAIL:
    case STEP_RENEW:
    case STEP_DEFER:
    case STEP_RELEASE:
        add_answer(g, m, s);
        break;
    case STEP_RETAIN:
        s->keep_ms = CHOOSE(g, keeps_ms);
        break;
    case STEP_CANCEL:
        add_ids(g, m, s, 0x3);
        break;
    case STEP_REDRIVE:
        add_ids(g, m, s, 0x38);
        break;
    case STEP_PURGE:
        add_ids(g, m, s, 0x3c);
        break;
    case STEP_GET:
    case STEP_FIND:
        add_ids(g, m, s, 0x3f);
        s->pick_count = 1;
        break;
    case STEP_CANCEL_MATCHING:
    case STEP_REDRIVE_MATCHING:
    case STEP_PURGE_MATCHING:
    case STEP_LIST:
        add_filter(g, m, s);
        break;
    case STEP_CLOCK:
        add_clock(g, m, s);
        break;
    default:
        break;
    }
}

static const struct {
    step_kind kind;
    size_t weight;
} weights[] = {
    {STEP_SEND, 24},
    {STEP_TX_SEND, 7},
    {STEP_TX_END, 3},
    {STEP_CLAIM, 16},
    {STEP_ACK_AND_CLAIM, 6},
    {STEP_ACK, 8},
    {STEP_ABANDON, 10},
    {STEP_FAIL, 5},
    {STEP_RENEW, 6},
    {STEP_DEFER, 6},
    {STEP_RELEASE, 5},
    {STEP_FORGET, 2},
    {STEP_OWNED, 2},
    {STEP_REAP, 8},
    {STEP_EXPIRE, 4},
    {STEP_RETAIN, 3},
    {STEP_FOLD, 3},
    {STEP_CANCEL, 4},
    {STEP_REDRIVE, 6},
    {STEP_PURGE, 3},
    {STEP_CANCEL_MATCHING, 1},
    {STEP_REDRIVE_MATCHING, 1},
    {STEP_PURGE_MATCHING, 1},
    {STEP_GET, 1},
    {STEP_FIND, 1},
    {STEP_LIST, 3},
    {STEP_CLOCK, 22},
    {STEP_SWEEP, 1},
    {STEP_REOPEN, 1},
};

static step_kind some_kind(generator *g)
{
    size_t total = 0, at;

    for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++)
        total += weights[i].weight;
    at = below(g, total);
    for (size_t i = 0;; i++) {
        if (at < weights[i].weight)
            return weights[i].kind;
        at -= weights[i].weight;
    }
}

/* A caller without a result repeats the call; a claimer lists its own messages. */
static void lose_answers(generator *g, const model *m, step *s)
{
    bool writes = s->kind == STEP_SEND || (s->kind >= STEP_CLAIM && s->kind <= STEP_RELEASE) ||
                  (s->kind >= STEP_REAP && s->kind <= STEP_PURGE);
    bool new_id = false;

    for (size_t i = 0; i < s->sending_count; i++)
        new_id = new_id || s->sendings[i].library_id;
    if (!writes || new_id)
        return;
    if (g->q->faults && chance(g, 25))
        s->fault = 1 + (int)below(g, m->postgres ? 10 : 25);
    else if (chance(g, 6))
        s->lost = chance(g, 65) ? LOST_ANSWER : LOST_REQUEST;
    if ((s->lost == LOST_NOTHING && s->fault == 0) || !chance(g, 80))
        return;
    g->again = *s;
    g->again.lost = LOST_NOTHING;
    g->again.fault = 0;
    if (s->kind == STEP_CLAIM || s->kind == STEP_ACK_AND_CLAIM)
        g->again.kind = STEP_OWNED;
    g->has_again = true;
}

static bool some_tx_is_open(const model *m, int *ret_handle)
{
    for (int i = 0; i < MODEL_HANDLES; i++)
        if (m->txs[i].open) {
            *ret_handle = i;
            return true;
        }
    return false;
}

/* Whatever was lost, hidden or forgotten meanwhile must come out now. Then everything ends, and
 * nothing but dead letters is kept. */
static bool end_game(const model *m, size_t at, step *s)
{
    static const step_kind kinds[] = {
        STEP_CLOCK, STEP_SWEEP,  STEP_REAP,   STEP_EXPIRE,          STEP_CLAIM, STEP_CHECK,
        STEP_CHECK, STEP_TX_END, STEP_TX_END, STEP_CANCEL_MATCHING, STEP_FOLD,  STEP_CLOCK,
        STEP_FOLD,  STEP_FOLD,   STEP_FOLD,   STEP_RETAIN,          STEP_CHECK};

    if (at >= sizeof kinds / sizeof kinds[0])
        return false;
    s->kind = kinds[at];
    s->clock_us = m->highest_us - m->now_us + 30 * DAY_MS * 1000;
    s->lease_ms = MINUTE_MS;
    s->limit = 100;
    s->store = at == 6 ? 1 : 0;
    s->handle = at == 7 ? 1 : 0;
    return true;
}

bool generator_next(generator *g, const model *m, step *ret_step)
{
    step s = {.owner = (int)below(g, chance(g, 50) ? 2 : MODEL_OWNERS),
              .topic = NO_OWNER,
              .before = NO_OWNER};
    size_t at = g->q->count;

    s.handle = (int)below(g, MODEL_HANDLES);
    s.commit = chance(g, 70);
    s.store = (int)below(g, MODEL_STORES);
    if (at >= g->length) {
        *ret_step = s;
        ret_step->owner = 0;
        return end_game(m, at - g->length, ret_step);
    }
    if (at % CHECK_EVERY == CHECK_EVERY - 1) {
        s.kind = STEP_CHECK;
    } else if (g->has_again) {
        s = g->again;
        g->has_again = false;
    } else if (!g->q->long_txs && some_tx_is_open(m, &s.handle)) {
        s.kind = chance(g, 30) ? STEP_TX_SEND : STEP_TX_END;
        s.store = m->txs[s.handle].store;
        fill_step(g, m, &s);
    } else {
        s.kind = some_kind(g);
        if (s.kind >= STEP_CLAIM && s.kind <= STEP_OWNED)
            s.store = s.owner % MODEL_STORES;
        fill_step(g, m, &s);
        lose_answers(g, m, &s);
    }
    *ret_step = s;
    return true;
}
