/* tests/scenario/scenario.c - the calls that several lists have, and what is true after each. */
#include "scenario.h"

#include <string.h>

#define LEASE_NAME "it"

static const char *const digits[SCENARIO_MESSAGES] = {"0", "1", "2", "3", "4",
                                                      "5", "6", "7", "8", "9"};

void scenario_clean(fixture *f)
{
    static const char *const tables[] = {"body",         "queue", "outcome", "claim",
                                         "topic",        "dead",  "lease",   "orders",
                                         "inbox_record", "job",   "job_run"};

    for (size_t i = 0; i < COUNT_OF(tables); i++)
        fixture_exec(f, "DELETE FROM {%s}", tables[i]);
    if (fixture_is_postgres(f))
        fixture_exec(f, "DELETE FROM {topic_stats}; DELETE FROM {topic_stats_delta}");
    else
        fixture_exec(
            f,
            "UPDATE {meta} SET latest_time = 0, boot_id = ''; "
            "DELETE FROM {topic_stats}; UPDATE {lane_stats} SET running = 0, paused = 0, dead = 0");
    fixture_set(f, FIXTURE_START);
}

void scenario_close(scenario *s)
{
    pawl_tx_free(s->tx);
    s->tx = NULL;
    pawl_inbox_task_free(s->arrival);
    s->arrival = NULL;
    pawl_store_close(s->store);
    s->store = NULL;
}

pawl_status scenario_perform(scenario *s, const scenario_step *step, size_t *ret_changed,
                             pawl_error *err)
{
    if (step->call)
        return step->call(s, ret_changed, err);
    pawl_receipt *first = &s->owned[step->operation.first];
    operation op = {.kind = step->operation.kind,
                    .owner = SCENARIO_OWNER,
                    .items = first,
                    .ids = &first->id, /* those that take ids are made for one message */
                    .count = step->operation.count,
                    .ms = step->operation.ms,
                    .error = step->operation.kind == OPERATION_FAIL ? "never" : "not now"};
    return operation_call(s->store, &op, ret_changed, err);
}

/* ---- checks ---- */

const char *scenario_check_tables(scenario *s, const scenario_step *step, int64_t *ret_there)
{
    const char *wrong = queue_check_note(s->f);

    *ret_there = step->effect ? fixture_count(s->f, "%s", step->effect) : 0;
    if (!wrong && *ret_there != 0 && *ret_there != step->whole)
        wrong =
            test_note("it is there by %lld of %lld", (long long)*ret_there, (long long)step->whole);
    return wrong;
}

const char *scenario_judge(const scenario_step *step, pawl_status st, const pawl_error *err,
                           int64_t there)
{
    if (st == PAWL_OK && step->whole != 0 && there == 0)
        return "it answered PAWL_OK, and nothing is there";
    if (st != PAWL_OK && st != PAWL_E_IN_DOUBT && there != 0)
        return test_note("it answered %s (%s), and everything is there", pawl_status_name(st),
                         err->message);
    return NULL;
}

const char *scenario_check_end(scenario *s, const char *expected)
{
    const char *end = fixture_text(
        s->f,
        "SELECT %s FROM (SELECT correlation_id || ':' || state || '/' || retries AS one"
        " FROM {message} ORDER BY correlation_id) AS list",
        fixture_is_postgres(s->f) ? "string_agg(one, ' ')" : "group_concat(one, ' ')");

    if (strcmp(end ? end : "", expected) != 0)
        return test_note("it ended with \"%s\", not with \"%s\"", end ? end : "", expected);
    return queue_check_note(s->f);
}

/* ---- sending and claiming ---- */

pawl_message_spec scenario_message(int number)
{
    pawl_message_spec m = queue_message("life", digits[number]);

    m.id = queue_id(number);
    m.correlation_id = digits[number];
    m.headers = "{\"traceparent\": \"x\"}";
    if (number == 4)
        m.expires_at = (pawl_wall){FIXTURE_START.us + 1000 * INT64_C(1000000)};
    if (number == 6)
        m.max_attempts = 1;
    return m;
}

pawl_status scenario_open(scenario *s, size_t *ret_changed, pawl_error *err)
{
    (void)ret_changed;
    return pawl_store_open(s->url, &s->options, &s->store, err);
}

pawl_status scenario_send(scenario *s, const pawl_message_spec *messages, size_t count,
                          size_t *ret_changed, pawl_error *err)
{
    pawl_enqueued answers[8];
    pawl_status st = pawl_outbox_enqueue_batch(s->store, messages, count, answers, err);

    for (size_t i = 0; st == PAWL_OK && i < count; i++)
        *ret_changed += !answers[i].existed;
    return st;
}

pawl_status scenario_send_batch(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_message_spec batch[] = {scenario_message(5), scenario_message(3), scenario_message(2),
                                 scenario_message(4), scenario_message(6)};

    return scenario_send(s, batch, COUNT_OF(batch), ret_changed, err);
}

void scenario_remember(scenario *s, const pawl_messages *list)
{
    for (size_t i = 0; i < pawl_messages_count(list); i++) {
        int number = pawl_message_correlation_id(pawl_messages_at(list, i))[0] - '0';
        s->owned[number] = fixture_receipt(list, i);
    }
}

static pawl_status claim_messages(scenario *s, int64_t lease_ms, int limit, size_t *ret_changed,
                                  pawl_error *err)
{
    pawl_messages *list = NULL;
    pawl_status st = pawl_queue_claim(s->store, SCENARIO_OWNER, lease_ms, limit, NULL, &list, err);

    if (st == PAWL_OK) {
        scenario_remember(s, list);
        *ret_changed = pawl_messages_count(list);
    }
    pawl_messages_free(list);
    return st;
}

pawl_status scenario_claim_four(scenario *s, size_t *ret_changed, pawl_error *err)
{
    return claim_messages(s, MINUTE_MS, 4, ret_changed, err);
}

pawl_status scenario_claim_rest(scenario *s, size_t *ret_changed, pawl_error *err)
{
    return claim_messages(s, SECOND_MS, 10, ret_changed, err);
}

pawl_status scenario_read_owned(scenario *s, size_t *ret_owned, pawl_error *err)
{
    pawl_messages *list = NULL;
    pawl_status st = pawl_queue_owned(s->store, SCENARIO_OWNER, &list, err);

    if (st == PAWL_OK) {
        scenario_remember(s, list);
        *ret_owned = pawl_messages_count(list);
    }
    pawl_messages_free(list);
    return st;
}

/* ---- a lease ---- */

/* After an unknown result the acquire is repeated, and returns the same token. */
pawl_status scenario_lease_take(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_lease_grant grant;
    pawl_status st =
        pawl_lease_acquire(s->store, LEASE_NAME, SCENARIO_OWNER, MINUTE_MS, NULL, &grant, err);

    if (st == PAWL_OK)
        s->lease_fence = grant.fence;
    *ret_changed = st == PAWL_OK;
    return st;
}

pawl_status scenario_lease_renew(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_lease_grant grant;
    pawl_status st = pawl_lease_renew(s->store, LEASE_NAME, SCENARIO_OWNER, s->lease_fence,
                                      2 * MINUTE_MS, &grant, err);

    *ret_changed = st == PAWL_OK;
    return st;
}

pawl_status scenario_lease_guard(scenario *s, pawl_tx *tx, pawl_error *err)
{
    return pawl_lease_guard(tx, LEASE_NAME, s->lease_fence, err);
}

/* Released twice: the second time it is no longer owned, which is the desired state. */
pawl_status scenario_lease_release(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_status st =
        pawl_lease_release(s->store, LEASE_NAME, SCENARIO_OWNER, s->lease_fence, NULL, err);

    *ret_changed = st == PAWL_OK;
    return st == PAWL_E_LOST ? PAWL_OK : st;
}

/* ---- preparations ---- */

void scenario_learn_message(scenario *s, int number)
{
    s->owned[number].id.value =
        fixture_count(s->f, "SELECT id FROM {message} WHERE correlation_id = '%d'", number);
    s->owned[number].fence =
        fixture_count(s->f, "SELECT fence FROM {message} WHERE correlation_id = '%d'", number);
}

void scenario_learn_messages(scenario *s)
{
    for (int i = 1; i < SCENARIO_MESSAGES; i++)
        scenario_learn_message(s, i);
}

void scenario_learn_lease(scenario *s)
{
    s->lease_fence = fixture_count(s->f, "SELECT fence FROM {lease} WHERE name = '" LEASE_NAME "'");
}

void scenario_after_the_lease(scenario *s)
{
    fixture_set(s->f, (pawl_wall){FIXTURE_START.us + 2 * 1000000});
}

void scenario_end_leases(scenario *s)
{
    pawl_inbox_task_free(s->arrival);
    s->arrival = NULL;
    fixture_advance(s->f, HOUR_MS);
}
