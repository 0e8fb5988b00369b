/* tests/sequences/runner_claim.c - calls that return messages: claims, the messages of an owner,
 * reading.
 */
#include <stdio.h>
#include <string.h>

#include "operation.h"
#include "runner.h"

/* ---- claims ---- */

typedef struct claimed {
    int numbers[MODEL_MESSAGES];
    size_t count;
    int64_t fence;
} claimed;

/* Every message must be one of ours, and all of one claim have one fence. */
static bool read_list(runner *p, const pawl_messages *list, claimed *ret)
{
    ret->count = 0;
    for (size_t i = 0; i < pawl_messages_count(list); i++) {
        const pawl_message *message = pawl_messages_at(list, i);
        int number = compare_number(&p->m, message);

        if (number < 0 || ret->count == MODEL_MESSAGES)
            return finding_say(&p->wrong, "work id %lld was claimed and should not be there",
                               (long long)pawl_message_work_id(message).value);
        if (ret->count > 0 && pawl_message_fence(message) != ret->fence)
            return finding_say(&p->wrong, "one claim has fences %lld and %lld",
                               (long long)ret->fence, (long long)pawl_message_fence(message));
        ret->fence = pawl_message_fence(message);
        ret->numbers[ret->count++] = number;
    }
    return true;
}

static void accept_claim(runner *p, const model_claim *call, const pawl_messages *list, bool known)
{
    claimed taken = {.count = 0};

    if (!read_list(p, list, &taken) ||
        !model_claim_check(&p->m, call, taken.numbers, taken.count, taken.fence, known, &p->wrong))
        return;
    for (size_t i = 0; i < taken.count; i++)
        if (!compare_message(&p->m, &p->m.messages[taken.numbers[i]], pawl_messages_at(list, i),
                             true, &p->wrong))
            return;
}

/* The messages of a claim whose result the owner did not get. */
typedef struct doubt {
    claimed taken;     /* under a new fence, in the claim's order */
    bool still_leased; /* something that should have been acknowledged by the same call */
} doubt;

static doubt ask_owner(runner *p, const model_claim *call, const model *after)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;
    doubt d = {.still_leased = false};

    if (pawl_queue_owned(p->at->stores[call->store], model_owner(call->owner), &list, &err) !=
        PAWL_OK)
        finding_say(&p->wrong, "owned returned: %s", err.message);
    for (size_t i = 0; i < pawl_messages_count(list); i++) {
        const pawl_message *message = pawl_messages_at(list, i);
        int number = compare_number(&p->m, message);

        if (number < 0)
            finding_say(&p->wrong, "a message is owned that should not exist");
        else if (pawl_message_fence(message) > p->m.last_fence)
            d.taken.numbers[d.taken.count++] = number;
        else if (after->messages[number].state != PAWL_STATE_RUNNING)
            d.still_leased = true;
        d.taken.fence = pawl_message_fence(message); /* the highest comes last */
    }
    pawl_messages_free(list);
    return d;
}

/* In doubt: both the acknowledgement and the claim were done, or neither. */
static void find_claim_result(runner *p, const model_claim *call, const model *after)
{
    doubt d = ask_owner(p, call, after);

    if (d.still_leased && d.taken.count > 0)
        finding_say(&p->wrong, "in doubt: the claim was done, the acknowledgement was not");
    if (d.still_leased)
        return;
    p->m = *after;
    if (d.taken.count > 0)
        model_claim_check(&p->m, call, d.taken.numbers, d.taken.count, d.taken.fence, true,
                          &p->wrong);
}

static pawl_claim_options options_of(const step *s, const char *topics[MODEL_TOPICS])
{
    static const char *const destinations[] = {"elsewhere", "there"};
    pawl_claim_options options = PAWL_CLAIM_OPTIONS_INIT;

    for (int i = 0; i < MODEL_TOPICS; i++)
        if (s->topics & (1u << i))
            topics[options.topic_count++] = model_topics[i];
    options.topics = s->topics ? topics : NULL;
    if (s->remote) {
        options.destinations = destinations;
        options.destination_count = 2;
    }
    options.owner_name = model_owner_names[s->owner];
    return options;
}

void run_claim(runner *p, const step *s)
{
    const model_claim call = {s->owner, s->store, s->lease_ms, s->limit, s->topics, s->remote};
    bool with_ack = s->kind == STEP_ACK_AND_CLAIM;
    pawl_receipt items[STEP_PICKS];
    model_answer ack = {.kind = ANSWER_ACK, .owner = s->owner, .items = items};
    const char *topics[MODEL_TOPICS];
    pawl_claim_options options = options_of(s, topics);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;
    model after = p->m;
    size_t acked = 0, expected;
    pawl_status st;

    if (s->lost == LOST_REQUEST)
        return;
    ack.count = with_ack ? run_resolve(&p->m, s, items) : 0;
    expected = model_answer_apply(&after, &ack);
    operation_claim op = {.owner = model_owner(s->owner),
                          .acks = with_ack ? items : NULL,
                          .ack_count = ack.count,
                          .lease_ms = s->lease_ms,
                          .limit = s->limit,
                          .opts = &options};
    runner_arm(p, s);
    st = operation_claim_call(runner_store(p, s), &op, &acked, &list, &err);
    switch (runner_result(p, s, st, &err)) {
    case CALL_DONE:
        p->m = after;
        if (acked != expected)
            finding_say(&p->wrong, "%zu are said to be acknowledged, should be %zu", acked,
                        expected);
        accept_claim(p, &call, list, s->lost == LOST_NOTHING);
        p->covered.effective[s->kind] += pawl_messages_count(list) > 0;
        break;
    case CALL_IN_DOUBT:
        find_claim_result(p, &call, &after);
        break;
    default:
        break;
    }
    pawl_messages_free(list);
}

void run_owned(runner *p, const step *s)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;
    size_t leased = 0;

    if (pawl_queue_owned(runner_store(p, s), model_owner(s->owner), &list, &err) != PAWL_OK) {
        finding_say(&p->wrong, "owned returned: %s", err.message);
        return;
    }
    model_remember(&p->m, s->owner);
    p->covered.effective[s->kind] += pawl_messages_count(list) > 0;
    for (size_t i = 0; i < p->m.ticket_count; i++)
        leased += p->m.tickets[i].owner == s->owner && p->m.tickets[i].known;
    if (leased != pawl_messages_count(list))
        finding_say(&p->wrong, "%s is reported to own %zu, should own %zu",
                    model_owner_names[s->owner], pawl_messages_count(list), leased);
    for (size_t i = 0; i < pawl_messages_count(list); i++) {
        int number = compare_number(&p->m, pawl_messages_at(list, i));

        if (number < 0)
            finding_say(&p->wrong, "a message is owned that should not exist");
        else
            compare_message(&p->m, &p->m.messages[number], pawl_messages_at(list, i), true,
                            &p->wrong);
    }
    pawl_messages_free(list);
}

/* ---- reading ---- */

pawl_outbox_filter run_filter(const model *m, const step *s)
{
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;

    filter.states = s->states;
    filter.topic = s->topic == NO_OWNER ? NULL : model_topics[s->topic];
    filter.correlation_id = model_correlation(s->correlation);
    if (s->before != NO_OWNER && m->messages[s->before].work_id != 0)
        snprintf(filter.after.text, sizeof filter.after.text, "%lld",
                 (long long)m->messages[s->before].work_id);
    filter.limit = s->limit;
    filter.with_payload = true;
    return filter;
}

static void run_one(runner *p, const step *s)
{
    int number = s->picks[0].number;
    const model_message *x = &p->m.messages[number];
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *one = NULL;
    pawl_status expected = x->present ? PAWL_OK : PAWL_E_NOT_FOUND;
    pawl_status st;

    if (s->kind == STEP_GET)
        st = pawl_outbox_get(runner_store(p, s), (pawl_work_id){x->work_id}, &one, &err);
    else
        st = pawl_outbox_find(runner_store(p, s), model_id(&p->m, number), &one, &err);
    if (st != expected)
        finding_say(&p->wrong, "it answered %s instead of %s", pawl_status_name(st),
                    pawl_status_name(expected));
    else if (st == PAWL_OK)
        compare_message(&p->m, x, pawl_messages_at(one, 0), true, &p->wrong);
    pawl_messages_free(one);
}

static void run_list(runner *p, const step *s)
{
    pawl_outbox_filter filter = run_filter(&p->m, s);
    pawl_work_id ids[MODEL_MESSAGES];
    size_t expected = model_matching(&p->m, &filter, ids);
    size_t page = expected < (size_t)s->limit ? expected : (size_t)s->limit;
    pawl_page expected_next = PAWL_PAGE_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;
    pawl_page next = {"-1"};

    if (expected > page)
        snprintf(expected_next.text, sizeof expected_next.text, "%lld",
                 (long long)ids[page - 1].value);
    if (pawl_outbox_list(runner_store(p, s), &filter, &list, &next, &err) != PAWL_OK)
        finding_say(&p->wrong, "list answered: %s", err.message);
    else if (pawl_messages_count(list) != page)
        finding_say(&p->wrong, "%zu are listed, should be %zu", pawl_messages_count(list), page);
    else if (strcmp(next.text, expected_next.text) != 0)
        finding_say(&p->wrong, "the next page is said to be after '%s', should be '%s'", next.text,
                    expected_next.text);
    for (size_t i = 0; !p->wrong.found && i < page; i++) {
        const model_message *x = model_by_work_id(&p->m, ids[i].value);

        compare_message(&p->m, x, pawl_messages_at(list, i), true, &p->wrong);
    }
    pawl_messages_free(list);
}

void run_read(runner *p, const step *s)
{
    p->covered.effective[s->kind]++;
    if (s->kind == STEP_LIST)
        run_list(p, s);
    else
        run_one(p, s);
}
