/* src/core/claim_check.c - argument checks of claims and of their results. */
#include "claim_check.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "bounds.h"
#include "text.h"

pawl_status pawli_check_owner(const pawl_store *store, pawl_owner owner, pawl_error *err)
{
    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    if (pawl_owner_is_zero(owner))
        return pawli_fail(err, PAWL_E_INVALID,
                          "the owner is all zero: create one with pawl_owner_new()");
    return PAWL_OK;
}

pawl_status pawli_check_lease(int64_t lease_ms, pawl_error *err)
{
    if (lease_ms <= 0 || lease_ms > PAWLI_LEASE_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "lease_ms must be " PAWLI_LEASE_RANGE);
    return PAWL_OK;
}

pawl_status pawli_check_topics(const pawl_claim_options *options, pawl_error *err)
{
    if (!options->topics) {
        if (options->topic_count > 0)
            return pawli_fail(err, PAWL_E_INVALID, "topics is NULL but topic_count is not 0");
        return PAWL_OK;
    }
    if (options->topic_count < 1 || options->topic_count > PAWLI_NAMES_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "pass %d to %d topics, or NULL for all", 1,
                          PAWLI_NAMES_MAX);
    for (size_t i = 0; i < options->topic_count; i++) {
        const char *topic = options->topics[i];
        if (!topic || !*topic || !pawli_utf8_check(topic, strlen(topic), NULL))
            return pawli_fail(err, PAWL_E_INVALID,
                              "topic %zu of the claim must be a non-empty UTF-8 string", i + 1);
    }
    return PAWL_OK;
}

pawl_status pawli_check_destinations(const pawl_claim_options *options, pawl_error *err)
{
    if (!options->destinations) {
        if (options->destination_count > 0 || options->destination_limits)
            return pawli_fail(
                err, PAWL_E_INVALID,
                "destinations is NULL but destination_count or destination_limits is set");
        return PAWL_OK;
    }
    if (options->topics)
        return pawli_fail(
            err, PAWL_E_INVALID,
            "pass topics or destinations, not both: a claim by destination covers all topics");
    if (options->destination_count < 1 || options->destination_count > PAWLI_NAMES_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "pass 1 to %d destinations, or NULL for none",
                          PAWLI_NAMES_MAX);
    for (size_t i = 0; i < options->destination_count; i++) {
        const char *name = options->destinations[i];
        if (!name || !*name || !pawli_utf8_check(name, strlen(name), NULL))
            return pawli_fail(err, PAWL_E_INVALID,
                              "destination %zu of the claim must be a non-empty UTF-8 string",
                              i + 1);
        if (options->destination_limits && options->destination_limits[i] <= 0)
            return pawli_fail(err, PAWL_E_INVALID,
                              "the limit of destination %zu must be greater than 0", i + 1);
    }
    return PAWL_OK;
}

pawl_status pawli_check_claim(const pawl_store *store, pawl_owner owner, int64_t lease_ms,
                              int limit, const void *ret_list, pawl_error *err)
{
    pawl_status st = pawli_check_owner(store, owner, err);

    if (st == PAWL_OK)
        st = pawli_check_lease(lease_ms, err);
    if (st == PAWL_OK && (limit <= 0 || limit > PAWL_BATCH_MAX))
        st = pawli_fail(err, PAWL_E_INVALID, "the limit must be 1 to %d", PAWL_BATCH_MAX);
    if (st == PAWL_OK && !ret_list)
        st = pawli_fail(err, PAWL_E_INVALID, "ret_list must not be NULL");
    return st;
}

pawl_status pawli_check_delay(int64_t delay_ms, pawli_value *ret_delay, pawl_error *err)
{
    bool by_policy = delay_ms == PAWL_DELAY_BY_POLICY;

    if (!by_policy && (delay_ms <= 0 || delay_ms > PAWLI_DELAY_MAX))
        return pawli_fail(
            err, PAWL_E_INVALID,
            "delay_ms must be greater than 0 and at most 100 years, or PAWL_DELAY_BY_POLICY");
    *ret_delay = by_policy ? pawli_null(PAWLI_SPAN) : pawli_span_ms(delay_ms);
    return PAWL_OK;
}

pawli_value pawli_clean_text(const char *words, char room[PAWLI_CLEAN_TEXT_SIZE])
{
    if (!words || !*words)
        return pawli_null(PAWLI_TEXT);
    pawli_utf8_clean(words, room, PAWLI_CLEAN_TEXT_SIZE);
    return pawli_text(room);
}

pawl_status pawli_owner_name(const char *given, char ret_name[PAWLI_OWNER_NAME_SIZE],
                             pawl_error *err)
{
    size_t characters;
    char host[256] = "localhost";

    if (given) {
        if (!*given || !pawli_utf8_check(given, strlen(given), &characters) ||
            characters > PAWLI_OWNER_NAME_MAX)
            return pawli_fail(err, PAWL_E_INVALID, "owner_name must be 1 to %d characters of UTF-8",
                              PAWLI_OWNER_NAME_MAX);
        memcpy(ret_name, given, strlen(given) + 1);
        return PAWL_OK;
    }
    gethostname(host, sizeof host - 1);
    snprintf(ret_name, PAWLI_OWNER_NAME_MAX, "%.200s:%ld", host, (long)getpid());
    return PAWL_OK;
}
