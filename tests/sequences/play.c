/* tests/sequences/play.c - one step in the store and in the model. */
#include "play.h"

void player_begin(player *p, place *at, const sequence *q)
{
    bool topics_known = at->postgres && q->long_txs;

    p->at = at;
    p->wrong.found = false;
    place_reset(at, q->start_us, topics_known);
    model_init(&p->m, at->postgres, q->start_us, topics_known);
}

pawl_store *player_store(player *p, const step *s)
{
    return p->at->stores[s->store];
}

void player_arm(player *p, const step *s)
{
    if (s->fault > 0)
        place_arm(p->at, s->fault);
}

fate player_fate(player *p, const step *s, pawl_status st, const pawl_error *err)
{
    bool failed = s->fault > 0 && place_disarm(p->at);

    p->covered.faults += failed;
    p->covered.in_doubt += st == PAWL_E_IN_DOUBT;
    if (st == PAWL_OK)
        return FATE_DONE;
    if (failed)
        return st == PAWL_E_IN_DOUBT ? FATE_IN_DOUBT : FATE_NOT_DONE;
    finding_say(&p->wrong, "it answered %s: %s", pawl_status_name(st), err->message);
    return FATE_WRONG;
}

/*
 * PostgreSQL's clock is the one that was set. SQLite's never goes below a time that was written
 * down, and not above any time that was.
 */
static void play_clock(player *p, const step *s)
{
    int64_t wall_us = p->m.now_us + s->clock_us;
    int64_t least_us = wall_us, most_us = wall_us;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_wall now = PAWL_NEVER;

    if (!p->m.postgres && p->m.written_us > least_us)
        least_us = p->m.written_us;
    if (!p->m.postgres && p->m.highest_us > most_us)
        most_us = p->m.highest_us;
    place_set_clock(p->at, wall_us);
    if (pawl_store_now(p->at->stores[0], &now, &err) != PAWL_OK)
        finding_say(&p->wrong, "the store does not tell the time: %s", err.message);
    else if (now.us < least_us || now.us > most_us)
        finding_say(&p->wrong, "the clock is at %+lld us, should be %+lld to %+lld us",
                    (long long)(now.us - p->m.start_us), (long long)(least_us - p->m.start_us),
                    (long long)(most_us - p->m.start_us));
    model_clock(&p->m, now.us);
    p->covered.effective[s->kind]++;
}

static void play_reopen(player *p, const step *s)
{
    for (int i = 0; i < MODEL_HANDLES; i++)
        if (p->m.txs[i].open && p->m.txs[i].store == s->store)
            play_tx_end(p, i, false); /* a transaction must not outlive its store */
    place_reopen(p->at, s->store);
    model_store_reopened(&p->m, s->store);
    p->covered.effective[s->kind]++;
}

static void carry_out(player *p, const step *s)
{
    p->covered.lost += s->lost != LOST_NOTHING;
    switch (s->kind) {
    case STEP_SEND:
        play_send(p, s);
        break;
    case STEP_TX_SEND:
        play_tx_send(p, s);
        break;
    case STEP_TX_END:
        play_tx_end(p, p->m.postgres ? s->handle : 0, s->commit);
        break;
    case STEP_CLAIM:
    case STEP_ACK_AND_CLAIM:
        play_claim(p, s);
        break;
    case STEP_FORGET:
        model_forget(&p->m, s->owner);
        p->covered.effective[s->kind]++;
        break;
    case STEP_HELD:
        play_held(p, s);
        break;
    case STEP_REAP:
        play_reap(p, s);
        break;
    case STEP_GET:
    case STEP_FIND:
    case STEP_LIST:
        play_read(p, s);
        break;
    case STEP_CLOCK:
        play_clock(p, s);
        break;
    case STEP_SWEEP:
        place_make_sweeps_due(p->at);
        model_swept(&p->m);
        p->covered.effective[s->kind]++;
        break;
    case STEP_REOPEN:
        play_reopen(p, s);
        break;
    case STEP_CHECK:
        compare_everything(p->at, &p->m, s->store, &p->wrong);
        p->covered.effective[s->kind]++;
        break;
    default:
        play_change(p, s);
        break;
    }
}

bool player_step(player *p, const step *s)
{
    const broken_store *how = &p->at->broken;
    model before;

    /* SQLite has one writer: while the application's transaction is open it is the only one. */
    if (!p->m.postgres && s->kind != STEP_TX_SEND && s->kind != STEP_TX_END)
        for (int i = 0; i < MODEL_HANDLES; i++)
            play_tx_end(p, i, false);
    before = p->m;
    broken_store_before(how, (int)s->kind);
    carry_out(p, s);
    broken_store_after(how, (int)s->kind);
    if (how->how && how->how->forget_if_lost && s->lost == LOST_ANSWER && !p->wrong.found)
        p->m = before;
    return !p->wrong.found;
}
