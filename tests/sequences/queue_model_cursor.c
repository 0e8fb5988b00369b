/*
 * tests/sequences/queue_model_cursor.c - messages that PostgreSQL may find with a delay.
 *
 * docs/internals/claim-cursor.md, "How long can a message be passed over?": after a long
 * transaction, and after a clock that stepped back. Messages that may be skipped are marked here;
 * everything else must be found by the first claim or reap.
 */
#include "queue_model.h"

#define LEASE_MAX_US (INT64_C(7) * 86400 * 1000000)

static void mark_all_leased(model *m)
{
    for (int i = 0; i < MODEL_MESSAGES; i++)
        if (m->messages[i].present && m->messages[i].state == PAWL_STATE_RUNNING)
            m->messages[i].shaky = true;
}

static void queue_model_cursor_show(model_message *x, int store, bool remote)
{
    if (x->sent.remote == remote)
        x->hidden &= ~(1u << store);
}

static void find_again(model *m, int store, bool remote)
{
    for (int i = 0; i < MODEL_MESSAGES; i++) {
        queue_model_cursor_show(&m->messages[i], store, remote);
        for (int h = 0; h < MODEL_HANDLES; h++)
            queue_model_cursor_show(&m->txs[h].messages[i], store, remote);
    }
}

void model_clock(model *m, int64_t now_us)
{
    if (now_us < m->now_us && m->postgres) {
        mark_all_leased(
            m); /* the check of a claim stays where it was; a renewal may end before it */
        for (int i = 0; i < MODEL_HANDLES; i++)
            m->txs[i].stepped_back = true;
    }
    m->now_us = now_us;
    for (int i = 0; i < MODEL_TOPICS; i++)
        if (now_us < m->ended_us[i])
            m->ended_us[i] = now_us; /* it is counted then, on PostgreSQL */
    if (now_us > m->highest_us)
        m->highest_us = now_us;
}

void model_store_reopened(model *m, int store)
{
    m->claim_seen_us[store][false] = m->claim_seen_us[store][true] = m->reap_seen_us[store] = 0;
    find_again(m, store, false);
    find_again(m, store, true);
}

void model_swept(model *m)
{
    for (int i = 0; i < MODEL_STORES; i++) {
        find_again(m, i, false);
        find_again(m, i, true);
    }
    /* The check of a claim cannot have been postponed by more than the longest lease. */
    for (int i = 0; i < MODEL_MESSAGES && m->now_us == m->highest_us; i++)
        if (m->messages[i].lease_until_us < m->now_us - LEASE_MAX_US)
            m->messages[i].shaky = false;
}

bool model_claim_is_behind(const model *m, int store, bool remote)
{
    return m->postgres && m->now_us < m->claim_seen_us[store][remote];
}

bool model_reap_is_behind(const model *m, int store)
{
    return m->postgres && m->now_us < m->reap_seen_us[store];
}

bool model_may_miss(const model *m, const model_message *x, int store)
{
    return x->late || (x->hidden & (1u << store)) != 0 ||
           model_claim_is_behind(m, store, x->sent.remote);
}

void model_claimed_at(model *m, int store, bool remote)
{
    if (model_claim_is_behind(m, store, remote))
        find_again(m, store, remote);
    m->claim_seen_us[store][remote] = m->now_us;
}

void model_reaped_at(model *m, int store)
{
    model_shake(m);
    m->reap_seen_us[store] = m->now_us;
}

void model_shake(model *m)
{
    for (int i = 0; i < MODEL_STORES; i++)
        if (model_reap_is_behind(m, i))
            mark_all_leased(m);
}
