/* tests/sequences/compare_store.c - compares the store with the model. */
#include <string.h>

#include "runner.h"
#include "store_private.h"

#define PAGE 7 /* small, so that there are several */

static bool number_differs(finding *wrong, int number, const char *what, int64_t expected,
                           int64_t found)
{
    if (expected == found)
        return false;
    finding_say(wrong, "message %d has %s %lld, should have %lld", number, what, (long long)found,
                (long long)expected);
    return true;
}

/* Times as distances from the start of the sequence are easier to read. */
static bool time_differs(const model *m, finding *wrong, int number, const char *what,
                         int64_t expected, pawl_wall found)
{
    if (expected == found.us)
        return false;
    if (expected == 0 || found.us == 0)
        return number_differs(wrong, number, what, expected, found.us);
    finding_say(wrong, "message %d has %s %+lld us, should have %+lld us", number, what,
                (long long)(found.us - m->start_us), (long long)(expected - m->start_us));
    return true;
}

static bool text_differs(finding *wrong, int number, const char *what, const char *expected,
                         const char *found, bool only_begins)
{
    if (!expected && !found)
        return false;
    if (expected && found &&
        (only_begins ? strncmp(expected, found, strlen(expected)) : strcmp(expected, found)) == 0)
        return false;
    finding_say(wrong, "message %d has %s '%s', should have '%s'", number, what,
                found ? found : "(none)", expected ? expected : "(none)");
    return true;
}

/* Fields that never change. */
static bool compare_body(const model *m, const model_message *x, const pawl_message *found,
                         bool with_payload, finding *wrong)
{
    int n = x->sent.number;
    char payload[64];
    size_t size = model_payload(n, x->sent.content, payload);
    size_t found_size;
    const void *found_payload = pawl_message_payload(found, &found_size);

    if (!pawl_uuid_equal(x->id, pawl_message_id(found)))
        return finding_say(wrong, "message %d has another message id", n);
    if (with_payload && (size != found_size || memcmp(payload, found_payload, size) != 0))
        return finding_say(wrong, "message %d has another payload", n);
    return !number_differs(wrong, n, "work id", x->work_id, pawl_message_work_id(found).value) &&
           !text_differs(wrong, n, "topic", model_topics[x->sent.topic], pawl_message_topic(found),
                         false) &&
           !number_differs(wrong, n, "priority", x->sent.priority, pawl_message_priority(found)) &&
           !text_differs(wrong, n, "correlation id", model_correlation(x->sent.correlation),
                         pawl_message_correlation_id(found), false) &&
           !text_differs(wrong, n, "destination", x->sent.remote ? "there" : NULL,
                         pawl_message_destination(found), false) &&
           !time_differs(m, wrong, n, "created_at", x->created_us,
                         pawl_message_created_at(found)) &&
           !time_differs(m, wrong, n, "due_at", x->due_us, pawl_message_due_at(found)) &&
           !number_differs(wrong, n, "max_attempts", x->max_attempts,
                           pawl_message_max_attempts(found));
}

bool compare_message(const model *m, const model_message *x, const pawl_message *found,
                     bool with_payload, finding *wrong)
{
    int n = x->sent.number;
    bool leased = x->state == PAWL_STATE_RUNNING;
    bool unfinished = leased || x->state == PAWL_STATE_READY;
    pawl_owner owner = leased ? model_owner(x->owner) : (pawl_owner){{0}};

    if (pawl_message_state(found) != model_shown_state(m, x))
        return finding_say(wrong, "message %d is %s, should be %s", n,
                           pawl_state_name(pawl_message_state(found)),
                           pawl_state_name(model_shown_state(m, x)));
    if (!pawl_owner_equal(owner, pawl_message_owner(found)))
        return finding_say(wrong, "message %d has another owner", n);
    /* Whether a finished message would have expired does not matter, except for failed ones. */
    if ((unfinished || x->state == PAWL_STATE_FAILED) &&
        time_differs(m, wrong, n, "expires_at", x->expires_us, pawl_message_expires_at(found)))
        return false;
    return compare_body(m, x, found, with_payload, wrong) &&
           !number_differs(wrong, n, "retries", x->retries, pawl_message_retries(found)) &&
           !number_differs(wrong, n, "deferrals", unfinished ? x->deferrals : 0,
                           pawl_message_deferrals(found)) &&
           !number_differs(wrong, n, "fence", x->fence, pawl_message_fence(found)) &&
           !text_differs(wrong, n, "claimed_by", leased ? model_owner_names[x->owner] : NULL,
                         pawl_message_claimed_by(found), false) &&
           !time_differs(m, wrong, n, "lease_until", leased ? x->lease_until_us : 0,
                         pawl_message_lease_until(found)) &&
           !time_differs(m, wrong, n, "next_attempt_at", unfinished ? x->run_at_us : 0,
                         pawl_message_next_attempt_at(found)) &&
           !time_differs(m, wrong, n, "finished_at", unfinished ? 0 : x->finished_us,
                         pawl_message_finished_at(found)) &&
           !text_differs(wrong, n, "processed_by", unfinished ? NULL : x->processed_by,
                         pawl_message_processed_by(found), false) &&
           !text_differs(wrong, n, "last_error", x->error, pawl_message_last_error(found), true);
}

int compare_number(const model *m, const pawl_message *found)
{
    for (int i = 0; i < MODEL_MESSAGES; i++)
        if (m->messages[i].present && m->messages[i].work_id == pawl_message_work_id(found).value)
            return i;
    return -1;
}

static bool compare_page(const model *m, const pawl_messages *list, bool seen[MODEL_MESSAGES],
                         finding *wrong)
{
    for (size_t i = 0; i < pawl_messages_count(list); i++) {
        const pawl_message *found = pawl_messages_at(list, i);
        int number = compare_number(m, found);

        if (number < 0)
            return finding_say(wrong, "work id %lld is in the store and should not be there",
                               (long long)pawl_message_work_id(found).value);
        if (seen[number])
            return finding_say(wrong, "message %d is listed twice", number);
        seen[number] = true;
        if (!compare_message(m, &m->messages[number], found, true, wrong))
            return false;
    }
    return true;
}

static bool compare_messages(sequence_fixture *at, const model *m, int store, finding *wrong)
{
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    bool seen[MODEL_MESSAGES] = {false};
    bool right = true;

    filter.limit = PAGE;
    filter.with_payload = true;
    do {
        pawl_messages *list = NULL;

        if (pawl_outbox_list(at->stores[store], &filter, &list, &filter.after, &err) != PAWL_OK)
            return finding_say(wrong, "list answered: %s", err.message);
        right = compare_page(m, list, seen, wrong);
        pawl_messages_free(list);
    } while (right && !PAWL_PAGE_IS_NONE(filter.after));
    for (int i = 0; right && i < MODEL_MESSAGES; i++)
        if (m->messages[i].present && !seen[i])
            return finding_say(wrong, "message %d should be %s and is not in the store", i,
                               pawl_state_name(m->messages[i].state));
    return right;
}

static pawl_topic_stats expected_stats(const model *m, int topic)
{
    pawl_topic_stats s = {.topic = model_topics[topic]};

    for (int i = 0; i < MODEL_MESSAGES; i++) {
        const model_message *x = &m->messages[i];

        if (!x->present || x->sent.topic != topic)
            continue;
        pawl_state shown = model_shown_state(m, x);
        bool ready = shown == PAWL_STATE_READY || shown == PAWL_STATE_SCHEDULED;
        s.ready += ready;
        s.running += x->state == PAWL_STATE_RUNNING;
        s.total_expired += shown == PAWL_STATE_EXPIRED && x->state != PAWL_STATE_EXPIRED;
        if (ready && x->run_at_us <= m->now_us &&
            (s.oldest_due_at.us == 0 || x->run_at_us < s.oldest_due_at.us))
            s.oldest_due_at.us = x->run_at_us;
    }
    s.depth_estimate = s.ready + s.running;
    s.total_done = m->totals[topic][PAWL_STATE_DONE];
    s.total_failed = m->totals[topic][PAWL_STATE_FAILED];
    s.total_expired += m->totals[topic][PAWL_STATE_EXPIRED];
    s.total_cancelled = m->totals[topic][PAWL_STATE_CANCELLED];
    return s;
}

static bool compare_topic(const pawl_topic_stats *x, const pawl_topic_stats *found, finding *wrong)
{
    if (strcmp(x->topic, found->topic) == 0 && x->ready == found->ready &&
        x->running == found->running && !found->depth_is_at_least &&
        x->depth_estimate == found->depth_estimate && x->total_done == found->total_done &&
        x->total_failed == found->total_failed && x->total_expired == found->total_expired &&
        x->total_cancelled == found->total_cancelled &&
        x->oldest_due_at.us == found->oldest_due_at.us)
        return true;
    return finding_say(
        wrong,
        "%s counts %lld ready, %lld in progress, %lld done, %lld failed, %lld expired, %lld "
        "cancelled, oldest %lld; should be %s with %lld, %lld, %lld, %lld, %lld, %lld, %lld",
        found->topic, (long long)found->ready, (long long)found->running,
        (long long)found->total_done, (long long)found->total_failed,
        (long long)found->total_expired, (long long)found->total_cancelled,
        (long long)found->oldest_due_at.us, x->topic, (long long)x->ready, (long long)x->running,
        (long long)x->total_done, (long long)x->total_failed, (long long)x->total_expired,
        (long long)x->total_cancelled, (long long)x->oldest_due_at.us);
}

static bool compare_stats(sequence_fixture *at, const model *m, int store, finding *wrong)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_outbox_stats *stats = NULL;
    size_t at_topic = 0;
    bool right = true;

    pawli_store_changed(at->stores[store]); /* depths may be a second old; not here */
    if (pawl_outbox_get_stats(at->stores[store], &stats, &err) != PAWL_OK)
        return finding_say(wrong, "stats answered: %s", err.message);
    for (int i = 0; right && i < MODEL_TOPICS; i++) {
        pawl_topic_stats expected = expected_stats(m, i);
        const pawl_topic_stats *found = pawl_outbox_stats_at(stats, at_topic);

        if (!model_topic_counted(m, i))
            continue;
        at_topic++;
        right = found ? compare_topic(&expected, found, wrong)
                      : finding_say(wrong, "%s is not counted", model_topics[i]);
    }
    if (right && at_topic != pawl_outbox_stats_count(stats))
        right = finding_say(wrong, "%zu topics are counted, should be %zu",
                            pawl_outbox_stats_count(stats), at_topic);
    pawl_outbox_stats_free(stats);
    return right;
}

static bool has_totals(const model *m, const pawl_outbox_stats *stats, int topic)
{
    model without = *m;
    finding differs = {.found = false};

    model_totals_gone(&without, topic);
    pawl_topic_stats expected = expected_stats(&without, topic);
    for (size_t i = 0; i < pawl_outbox_stats_count(stats); i++)
        if (strcmp(pawl_outbox_stats_at(stats, i)->topic, model_topics[topic]) == 0)
            return !model_topic_counted(&without, topic) ||
                   !compare_topic(&expected, pawl_outbox_stats_at(stats, i), &differs);
    return false;
}

void compare_has_totals(sequence_fixture *at, const model *m, int store, bool ret_has[MODEL_TOPICS],
                        finding *wrong)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_outbox_stats *stats = NULL;

    pawli_store_changed(at->stores[store]);
    if (pawl_outbox_get_stats(at->stores[store], &stats, &err) != PAWL_OK) {
        finding_say(wrong, "stats answered: %s", err.message);
        return;
    }
    for (int i = 0; i < MODEL_TOPICS; i++)
        ret_has[i] = has_totals(m, stats, i);
    pawl_outbox_stats_free(stats);
}

static bool compare_owned(sequence_fixture *at, const model *m, int store, int owner,
                          finding *wrong)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;
    size_t expected = 0;
    bool right = true;

    for (int i = 0; i < MODEL_MESSAGES; i++)
        expected += m->messages[i].present && m->messages[i].state == PAWL_STATE_RUNNING &&
                    m->messages[i].owner == owner;
    if (pawl_queue_owned(at->stores[store], model_owner(owner), &list, &err) != PAWL_OK)
        return finding_say(wrong, "owned returned: %s", err.message);
    if (pawl_messages_count(list) != expected)
        right = finding_say(wrong, "%s owns %zu, should own %zu", model_owner_names[owner],
                            pawl_messages_count(list), expected);
    for (size_t i = 0; right && i < pawl_messages_count(list); i++) {
        int number = compare_number(m, pawl_messages_at(list, i));

        right = number < 0 ? finding_say(wrong, "a message is owned that should not exist")
                           : compare_message(m, &m->messages[number], pawl_messages_at(list, i),
                                             true, wrong);
        if (right && m->messages[number].owner != owner)
            right = finding_say(wrong, "%s owns another's message %d", model_owner_names[owner],
                                number);
    }
    pawl_messages_free(list);
    return right;
}

bool compare_everything(sequence_fixture *at, const model *m, int store, finding *wrong)
{
    for (int i = 0; i < MODEL_OWNERS; i++)
        if (!compare_owned(at, m, store, i, wrong))
            return false;
    if (sequences_rule_breaches(at) != 0)
        return finding_say(wrong, "a message is in the queue and finished, or neither; or a claim "
                                  "has outlived its messages");
    return compare_messages(at, m, store, wrong) && compare_stats(at, m, store, wrong);
}

void compare_in_progress(sequence_fixture *at, const model *m, bool ret_owned[MODEL_MESSAGES],
                         finding *wrong)
{
    pawl_outbox_filter filter = PAWL_OUTBOX_FILTER_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;

    memset(ret_owned, 0, MODEL_MESSAGES * sizeof *ret_owned);
    filter.states = 1u << PAWL_STATE_RUNNING;
    if (pawl_outbox_list(at->stores[0], &filter, &list, NULL, &err) != PAWL_OK) {
        finding_say(wrong, "list answered: %s", err.message);
        return;
    }
    for (size_t i = 0; i < pawl_messages_count(list); i++) {
        int number = compare_number(m, pawl_messages_at(list, i));

        if (number >= 0)
            ret_owned[number] = true;
    }
    pawl_messages_free(list);
}
