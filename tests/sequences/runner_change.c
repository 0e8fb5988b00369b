/* tests/sequences/runner_change.c - calls that answer how many messages they changed. */
#include "runner.h"

#include "operation.h"

/* The arguments of the step at this moment. */
typedef struct change {
    const step *s;
    pawl_receipt items[STEP_PICKS];
    pawl_work_id ids[STEP_PICKS];
    size_t count;
    pawl_outbox_filter filter;
} change;

/* The newest ticket of the message that suits; `skip` newer ones are passed over. */
static const ticket *find_ticket(const model *m, int number, int owner, bool others,
                                 bool only_known, int skip)
{
    for (size_t i = m->ticket_count; i > 0; i--) {
        const ticket *t = &m->tickets[i - 1];

        if (t->number != number || (only_known && !t->known) ||
            (owner != NO_OWNER && (t->owner == owner) == others))
            continue;
        if (skip-- == 0)
            return t;
    }
    return NULL;
}

static bool resolve_one(const model *m, const step *s, const pick *want, pawl_receipt *ret_item)
{
    const ticket *t = NULL;
    int64_t work_id = m->messages[want->number].work_id;

    switch (want->kind) {
    case PICK_MINE:
        t = find_ticket(m, want->number, s->owner, false, true, 0);
        break;
    case PICK_STALE:
        t = find_ticket(m, want->number, s->owner, false, false, 1);
        if (!t)
            t = find_ticket(m, want->number, NO_OWNER, false, false, 1);
        break;
    case PICK_FOREIGN:
        t = find_ticket(m, want->number, s->owner, true, false, 0);
        break;
    case PICK_MADE_UP:
        *ret_item = (pawl_receipt){{work_id}, m->last_fence + 1};
        return work_id != 0;
    default:
        *ret_item = (pawl_receipt){{work_id}, 0};
        return work_id != 0;
    }
    if (t)
        *ret_item = (pawl_receipt){{t->work_id}, t->fence};
    return t != NULL;
}

size_t run_resolve(const model *m, const step *s, pawl_receipt ret_items[STEP_PICKS])
{
    size_t count = 0;

    for (size_t i = 0; i < s->pick_count; i++)
        if (resolve_one(m, s, &s->picks[i], &ret_items[count]))
            count++;
    return count;
}

static model_answer answer_of(const change *c)
{
    static const answer_kind kinds[STEP_KINDS] = {
        [STEP_ACK] = ANSWER_ACK,     [STEP_ABANDON] = ANSWER_ABANDON, [STEP_FAIL] = ANSWER_FAIL,
        [STEP_RENEW] = ANSWER_RENEW, [STEP_RELEASE] = ANSWER_RELEASE, [STEP_DEFER] = ANSWER_DEFER,
    };

    return (model_answer){.kind = kinds[c->s->kind],
                          .owner = c->s->owner,
                          .items = c->items,
                          .count = c->count,
                          .error = c->s->error,
                          .delay_ms = c->s->delay_ms,
                          .lease_ms = c->s->lease_ms};
}

#define STATE(name) (1u << PAWL_STATE_##name)
#define DEAD (STATE(FAILED) | STATE(EXPIRED) | STATE(CANCELLED))

/* The states, as they are shown, that the change applies to. */
static unsigned states_for(const step *s)
{
    switch (s->kind) {
    case STEP_CANCEL_MATCHING:
        return STATE(SCHEDULED) | STATE(READY) | STATE(RUNNING);
    case STEP_REDRIVE_MATCHING:
        return DEAD;
    default:
        return STATE(DONE) | DEAD;
    }
}

static size_t change_matching(model *m, const change *c)
{
    pawl_work_id ids[MODEL_MESSAGES];
    pawl_outbox_filter filter = c->filter;
    size_t count;

    filter.states = states_for(c->s) & (filter.states != 0 ? filter.states : ~0u);
    if (filter.states == 0)
        return 0;
    count = model_matching(m, &filter, ids);
    switch (c->s->kind) {
    case STEP_CANCEL_MATCHING:
        return model_cancel(m, ids, count);
    case STEP_REDRIVE_MATCHING:
        return model_redrive(m, ids, count);
    default:
        return model_purge(m, ids, count);
    }
}

static size_t apply_change(model *m, const change *c)
{
    model_answer answer;

    switch (c->s->kind) {
    case STEP_EXPIRE:
        return model_expire(m);
    case STEP_RETAIN:
        return model_retain(m, c->s->keep_ms);
    case STEP_FOLD:
        model_fold(m);
        return 0;
    case STEP_CANCEL:
        return model_cancel(m, c->ids, c->count);
    case STEP_REDRIVE:
        return model_redrive(m, c->ids, c->count);
    case STEP_PURGE:
        return model_purge(m, c->ids, c->count);
    case STEP_CANCEL_MATCHING:
    case STEP_REDRIVE_MATCHING:
    case STEP_PURGE_MATCHING:
        return change_matching(m, c);
    default:
        answer = answer_of(c);
        return model_answer_apply(m, &answer);
    }
}

static operation operation_of(const change *c)
{
    static const operation_kind kinds[STEP_KINDS] = {
        [STEP_ACK] = OPERATION_ACK,
        [STEP_ABANDON] = OPERATION_ABANDON,
        [STEP_FAIL] = OPERATION_FAIL,
        [STEP_RENEW] = OPERATION_RENEW,
        [STEP_DEFER] = OPERATION_DEFER,
        [STEP_RELEASE] = OPERATION_RELEASE,
        [STEP_REAP] = OPERATION_REAP,
        [STEP_EXPIRE] = OPERATION_EXPIRE,
        [STEP_RETAIN] = OPERATION_RETAIN,
        [STEP_FOLD] = OPERATION_FOLD,
        [STEP_CANCEL] = OPERATION_CANCEL,
        [STEP_REDRIVE] = OPERATION_REDRIVE,
        [STEP_PURGE] = OPERATION_PURGE,
        [STEP_CANCEL_MATCHING] = OPERATION_CANCEL_MATCHING,
        [STEP_REDRIVE_MATCHING] = OPERATION_REDRIVE_MATCHING,
        [STEP_PURGE_MATCHING] = OPERATION_PURGE_MATCHING,
    };
    const step *s = c->s;
    int64_t ms = s->kind == STEP_RETAIN  ? s->keep_ms
                 : s->kind == STEP_RENEW ? s->lease_ms
                                         : s->delay_ms;

    return (operation){.kind = kinds[s->kind],
                       .owner = model_owner(s->owner),
                       .items = c->items,
                       .ids = c->ids,
                       .count = c->count,
                       .filter = &c->filter,
                       .ms = ms,
                       .error = s->error};
}

static void resolve_change(const model *m, const step *s, change *ret)
{
    ret->s = s;
    if (s->kind >= STEP_ACK && s->kind <= STEP_RELEASE) {
        ret->count = run_resolve(m, s, ret->items);
    } else {
        for (size_t i = 0; i < s->pick_count; i++)
            if (m->messages[s->picks[i].number].work_id != 0)
                ret->ids[ret->count++].value = m->messages[s->picks[i].number].work_id;
    }
    ret->filter = run_filter(m, s);
    if (s->kind >= STEP_CANCEL_MATCHING && s->kind <= STEP_PURGE_MATCHING)
        ret->filter.after = (pawl_page)PAWL_PAGE_INIT;
}

/* A store that does not check the fence: the owner's current claim is meant. */
static void ignore_fences(const runner *p, change *c)
{
    for (size_t i = 0; i < c->count; i++)
        for (int n = 0; n < MODEL_MESSAGES; n++)
            if (p->m.messages[n].present && p->m.messages[n].work_id == c->items[i].id.value)
                c->items[i].fence = p->m.messages[n].fence;
}

/* In doubt: the store is as if it had been done, or as if it had not. */
static void finish_change(runner *p, const step *s, const model *after)
{
    finding not_done = {.found = false};

    if (compare_everything(p->at, after, s->store, &not_done))
        p->m = *after;
    else
        compare_everything(p->at, &p->m, s->store, &p->wrong);
}

/* Totals may go when the model says so, and must not otherwise. */
static void follow_totals(runner *p, const step *s, model *after)
{
    bool has[MODEL_TOPICS] = {false};

    compare_has_totals(p->at, after, s->store, has, &p->wrong);
    for (int i = 0; i < MODEL_TOPICS && !p->wrong.found; i++)
        if (after->topic_known[i] && !has[i] && model_totals_may_go(after, i, s->keep_ms)) {
            model_totals_gone(after, i);
            p->covered.forgotten++;
        }
}

void run_change(runner *p, const step *s)
{
    change c = {.s = s};
    pawl_error err = PAWL_ERROR_INIT;
    model after = p->m;
    size_t changed = 0, expected;
    pawl_status st;

    if (s->lost == LOST_REQUEST)
        return;
    resolve_change(&p->m, s, &c);
    expected = apply_change(&after, &c);
    if (broken_store_is(&p->at->broken, (int)s->kind) && p->at->broken.how->ignore_fence)
        ignore_fences(p, &c);
    operation op = operation_of(&c);
    runner_arm(p, s);
    st = operation_call(runner_store(p, s), &op, &changed, &err);
    call_result became = runner_result(p, s, st, &err);
    if (s->kind == STEP_RETAIN && (became == CALL_DONE || became == CALL_IN_DOUBT))
        follow_totals(p, s, &after);
    switch (became) {
    case CALL_DONE:
        p->m = after;
        p->covered.effective[s->kind] += changed > 0 || s->kind == STEP_FOLD;
        p->covered.stale += changed < c.count;
        if (changed != expected)
            finding_say(&p->wrong, "it is said to have changed %zu, should be %zu", changed,
                        expected);
        break;
    case CALL_IN_DOUBT:
        finish_change(p, s, &after);
        break;
    default:
        break;
    }
}

void run_reap(runner *p, const step *s)
{
    bool leased[MODEL_MESSAGES] = {false};
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0, expected;
    call_result became;
    pawl_status st;

    if (s->lost == LOST_REQUEST)
        return;
    runner_arm(p, s);
    st = pawl_queue_reap(runner_store(p, s), &changed, NULL, &err);
    became = runner_result(p, s, st, &err);
    if (became == CALL_WRONG || became == CALL_NOT_DONE)
        return;
    if (became == CALL_IN_DOUBT) {
        model after = p->m;
        finding unused = {.found = false};

        compare_in_progress(p->at, &p->m, leased, &p->wrong);
        model_reap(&after, s->store, leased, false, &unused);
        finish_change(p, s, &after);
        return;
    }
    p->covered.effective[s->kind] += changed > 0;
    if (!model_reap_is_certain(&p->m, s->store))
        compare_in_progress(p->at, &p->m, leased, &p->wrong);
    expected = model_reap(&p->m, s->store, leased, changed == 0, &p->wrong);
    if (changed != expected)
        finding_say(&p->wrong, "it is said to have reaped %zu, should be %zu", changed, expected);
}
