/* tests/crash/database_model.c - the messages of the scenario, and comparing two states of the
 * queue. */
#include "database_model.h"

#include <stdio.h>
#include <string.h>

/* Messages from `first` on, up to the next group. */
static const struct group {
    int first;
    const char *topic;
    int max_attempts;
    int64_t ttl_ms; /* 0: none */
} groups[] = {
    {0, "alone", 3, 0},    {4, "batch", 3, 0},      {10, "orders", 3, 0}, {18, "crowd", 3, 0},
    {30, "fragile", 1, 0}, {34, "brief", 3, 60000}, {38, "late", 3, 0},   {44, "timers", 3, 0},
};

/* From nothing to several overflow pages. */
static const size_t payload_sizes[] = {37, 9000, 0, 512, 1, 3000, 100};

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const struct group *group_of(int number)
{
    const struct group *found = &groups[0];

    for (size_t i = 0; i < COUNT_OF(groups) && groups[i].first <= number; i++)
        found = &groups[i];
    return found;
}

pawl_uuid model_id(int number)
{
    pawl_uuid id = {{'c', 'r', 'a', 's', 'h', 0, 0x40, 0, 0x80}};

    id.bytes[15] = (uint8_t)number;
    return id;
}

int model_number(const uint8_t id[16])
{
    pawl_uuid expected = model_id(id[15]);

    return id[15] < MODEL_MESSAGES && memcmp(expected.bytes, id, 16) == 0 ? id[15] : -1;
}

const char *model_topic(int number)
{
    return group_of(number)->topic;
}

size_t model_payload_size(int number)
{
    return payload_sizes[(size_t)number % COUNT_OF(payload_sizes)];
}

void model_payload(int number, uint8_t *ret_payload)
{
    for (size_t i = 0; i < model_payload_size(number); i++)
        ret_payload[i] = (uint8_t)((size_t)number * 31 + i * 7 + i / 256);
}

pawl_message_spec model_outgoing(int number, uint8_t *payload, int64_t now_ms)
{
    const struct group *group = group_of(number);
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;

    model_payload(number, payload);
    message.topic = group->topic;
    message.payload = payload;
    message.payload_size = model_payload_size(number);
    message.id = model_id(number);
    message.max_attempts = group->max_attempts;
    if (group->ttl_ms > 0)
        message.expires_at = (pawl_wall){(now_ms + group->ttl_ms) * 1000};
    return message;
}

pawl_owner model_owner(int number)
{
    pawl_owner owner = {{'o', 'w', 'n', 'e', 'r', 0, 0x40, 0, 0x80}};

    owner.bytes[15] = (uint8_t)number;
    return owner;
}

int model_owner_number(const uint8_t owner[16])
{
    static const uint8_t no_owner[16];
    pawl_owner expected = model_owner(owner[15]);

    if (memcmp(owner, no_owner, 16) == 0)
        return 0;
    return owner[15] <= MODEL_OWNERS && memcmp(expected.bytes, owner, 16) == 0 ? owner[15] : -1;
}

const char *model_lease_name(int number)
{
    static const char *const names[MODEL_LEASES] = {"lease 0", "lease 1"};

    return names[number];
}

void model_init(model *m)
{
    *m = (model){0};
    for (int i = 0; i < MODEL_MESSAGES; i++)
        m->messages[i].state = MODEL_ABSENT;
}

static const char *state_name(int state)
{
    return state == MODEL_ABSENT ? "absent" : pawl_state_name((pawl_state)state);
}

static bool message_differs(const model_message *a, const model_message *b)
{
    return a->state != b->state || a->retries != b->retries || a->owner != b->owner ||
           a->fence != b->fence || a->lease_until_ms != b->lease_until_ms ||
           a->run_at_ms != b->run_at_ms;
}

static int describe_message(const model_message *m, char *ret_text, size_t size)
{
    return snprintf(ret_text, size,
                    "%s (retries %d, owner %d, fence %lld, lease until %lld, run at %lld)",
                    state_name(m->state), m->retries, m->owner, (long long)m->fence,
                    (long long)(m->lease_until_ms ? m->lease_until_ms - MODEL_START_MS : 0),
                    (long long)(m->run_at_ms ? m->run_at_ms - MODEL_START_MS : 0));
}

/* Which claim or take it was, of those that are there: tokens grow, by how much is not promised. */
static void number_fences(model *m)
{
    enum { COUNT = MODEL_MESSAGES + MODEL_LEASES };
    int64_t *all[COUNT], fences[COUNT];

    for (int i = 0; i < COUNT; i++) {
        all[i] = i < MODEL_MESSAGES ? &m->messages[i].fence : &m->leases[i - MODEL_MESSAGES].fence;
        fences[i] = *all[i];
    }
    for (int i = 0; i < COUNT; i++) {
        int64_t below = 0;
        for (int64_t at = 0; fences[i] != 0;) {
            int64_t next = fences[i];
            for (int k = 0; k < COUNT; k++) {
                if (fences[k] > at && fences[k] < next)
                    next = fences[k];
            }
            below++;
            if (next == fences[i])
                break;
            at = next;
        }
        *all[i] = below;
    }
}

static bool differ(const model *expected, const model *found, char *ret_text, size_t size)
{
    char should[160];
    char is[160];

    if (expected->schema != found->schema || expected->orders_table != found->orders_table) {
        snprintf(ret_text, size, "tables: pawl's %d and the application's %d, should be %d and %d",
                 found->schema, found->orders_table, expected->schema, expected->orders_table);
        return true;
    }
    for (int i = 0; i < MODEL_MESSAGES; i++) {
        if (message_differs(&expected->messages[i], &found->messages[i])) {
            describe_message(&expected->messages[i], should, sizeof should);
            describe_message(&found->messages[i], is, sizeof is);
            snprintf(ret_text, size, "message %d is %s, should be %s", i, is, should);
            return true;
        }
        if (expected->orders[i] != found->orders[i]) {
            snprintf(ret_text, size, "the application's row %d is %sthere", i,
                     found->orders[i] ? "" : "not ");
            return true;
        }
    }
    for (int i = 0; i < MODEL_LEASES; i++) {
        const model_lease *a = &expected->leases[i], *b = &found->leases[i];
        if (a->owner != b->owner || a->fence != b->fence || a->released != b->released ||
            a->expires_at_ms != b->expires_at_ms) {
            snprintf(
                ret_text, size,
                "lease %d is owner %d's under token %lld, released %d, should be %d's, %lld, %d", i,
                b->owner, (long long)b->fence, b->released, a->owner, (long long)a->fence,
                a->released);
            return true;
        }
    }
    return false;
}

bool model_differ(const model *expected, const model *found, char *ret_text, size_t size)
{
    model a = *expected, b = *found;

    number_fences(&a);
    number_fences(&b);
    return differ(&a, &b, ret_text, size);
}
