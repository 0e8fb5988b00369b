/* tests/sequences/runner.c - one step in the store and in the model. */
#include "runner.h"

void runner_begin(runner *p, sequence_fixture *at, const sequence *q)
{
    bool topics_known = at->postgres && q->long_txs;

    p->at = at;
    p->wrong.found = false;
    sequences_reset(at, q->start_us, topics_known);
    model_init(&p->m, at->postgres, q->start_us, topics_known);
}

pawl_store *runner_store(runner *p, const step *s)
{
    return p->at->stores[s->store];
}

void runner_arm(runner *p, const step *s)
{
    if (s->fault > 0)
        sequences_arm(p->at, s->fault);
}

call_result runner_result(runner *p, const step *s, pawl_status st, const pawl_error *err)
{
    bool failed = s->fault > 0 && sequences_disarm(p->at);

    p->covered.faults += failed;
    p->covered.in_doubt += st == PAWL_E_IN_DOUBT;
    if (st == PAWL_OK)
        return CALL_DONE;
    if (failed)
        return st == PAWL_E_IN_DOUBT ? CALL_IN_DOUBT : CALL_NOT_DONE;
    finding_say(&p->wrong, "it answered %s: %s", pawl_status_name(st), err->message);
    return CALL_WRONG;
}

/*
 * PostgreSQL's clock is the one that was set. SQLite's never goes below a time that was written
 * down, and not above any time that was.
 */
static void run_clock(runner *p, const step *s)
{
    int64_t wall_us = p->m.now_us + s->clock_us;
    int64_t least_us = wall_us, most_us = wall_us;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_wall now = PAWL_TIME_UNSET;

    if (!p->m.postgres && p->m.written_us > least_us)
        least_us = p->m.written_us;
    if (!p->m.postgres && p->m.highest_us > most_us)
        most_us = p->m.highest_us;
    sequences_set_clock(p->at, wall_us);
    if (pawl_store_now(p->at->stores[0], &now, &err) != PAWL_OK)
        finding_say(&p->wrong, "the store's clock cannot be read: %s", err.message);
    else if (now.us < least_us || now.us > most_us)
        finding_say(&p->wrong, "the clock is at %+lld us, should be %+lld to %+lld us",
                    (long long)(now.us - p->m.start_us), (long long)(least_us - p->m.start_us),
                    (long long)(most_us - p->m.start_us));
    model_clock(&p->m, now.us);
    p->covered.effective[s->kind]++;
}

static void run_reopen(runner *p, const step *s)
{
    for (int i = 0; i < MODEL_HANDLES; i++)
        if (p->m.txs[i].open && p->m.txs[i].store == s->store)
            run_tx_end(p, i, false); /* a transaction must not outlive its store */
    sequences_reopen(p->at, s->store);
    model_store_reopened(&p->m, s->store);
    p->covered.effective[s->kind]++;
}

static void carry_out(runner *p, const step *s)
{
    p->covered.lost += s->lost != LOST_NOTHING;
    switch (s->kind) {
    case STEP_SEND:
        run_send(p, s);
        break;
    case STEP_TX_SEND:
        run_tx_send(p, s);
        break;
    case STEP_TX_END:
        run_tx_end(p, p->m.postgres ? s->handle : 0, s->commit);
        break;
    case STEP_CLAIM:
    case STEP_ACK_AND_CLAIM:
        run_claim(p, s);
        break;
    case STEP_FORGET:
        model_forget(&p->m, s->owner);
        p->covered.effective[s->kind]++;
        break;
    case STEP_OWNED:
        run_owned(p, s);
        break;
    case STEP_REAP:
        run_reap(p, s);
        break;
    case STEP_GET:
    case STEP_FIND:
    case STEP_LIST:
        run_read(p, s);
        break;
    case STEP_CLOCK:
        run_clock(p, s);
        break;
    case STEP_SWEEP:
        sequences_make_sweeps_due(p->at);
        model_swept(&p->m);
        p->covered.effective[s->kind]++;
        break;
    case STEP_REOPEN:
        run_reopen(p, s);
        break;
    case STEP_CHECK:
        compare_everything(p->at, &p->m, s->store, &p->wrong);
        p->covered.effective[s->kind]++;
        break;
    default:
        run_change(p, s);
        break;
    }
}

bool runner_step(runner *p, const step *s)
{
    const broken_store *how = &p->at->broken;
    model before;

    /* SQLite has one writer: while the application's transaction is open it is the only one. */
    if (!p->m.postgres && s->kind != STEP_TX_SEND && s->kind != STEP_TX_END)
        for (int i = 0; i < MODEL_HANDLES; i++)
            run_tx_end(p, i, false);
    before = p->m;
    broken_store_before(how, (int)s->kind);
    carry_out(p, s);
    broken_store_after(how, (int)s->kind);
    if (how->how && how->how->forget_if_lost && s->lost == LOST_ANSWER && !p->wrong.found)
        p->m = before;
    return !p->wrong.found;
}
