/*
 * src/core/claimant.c - an owner that remembers its fences, so that callers report results by
 * work id alone.
 *
 * The fences are a hash table with open addressing, keyed by work id; 0 is never a work id.
 */
#include <pawl/queue.h>

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "options.h"
#include "scope.h"

struct pawl_claimant {
    pawl_store *store;
    pawl_owner owner;
    char *owner_name;
    char **topics; /* NULL: all */
    size_t topic_count;
    char **destinations; /* NULL: none, claim local messages */
    size_t destination_count;
    int64_t *limits; /* of the destinations; may be NULL */
    bool reap;
    pawl_receipt *slots; /* `capacity` of them, a power of two */
    size_t capacity;
    size_t used;
};

PAWLI_AUTO_DEFINE(pawl_claimant, pawl_claimant_free);

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; names && i < count; i++)
        free(names[i]);
    free(names);
}

void pawl_claimant_free(pawl_claimant *claimant)
{
    if (!claimant)
        return;
    free_names(claimant->topics, claimant->topic_count);
    free_names(claimant->destinations, claimant->destination_count);
    free(claimant->limits);
    free(claimant->owner_name);
    free(claimant->slots);
    free(claimant);
}

/* On failure the caller frees the partial copy together with the claimant. */
static bool copy_names(const char *const *names, size_t count, char ***ret_names, size_t *ret_count)
{
    if (!names || count == 0)
        return true;
    *ret_names = calloc(count, sizeof **ret_names);
    if (!*ret_names)
        return false;
    *ret_count = count;
    for (size_t i = 0; i < count; i++) {
        (*ret_names)[i] = strdup(names[i] ? names[i] : "");
        if (!(*ret_names)[i])
            return false;
    }
    return true;
}

static bool copy_options(pawl_claimant *claimant, const pawl_claim_options *options)
{
    if (options->owner_name) {
        claimant->owner_name = strdup(options->owner_name);
        if (!claimant->owner_name)
            return false;
    }
    if (!copy_names(options->topics, options->topic_count, &claimant->topics,
                    &claimant->topic_count) ||
        !copy_names(options->destinations, options->destination_count, &claimant->destinations,
                    &claimant->destination_count))
        return false;
    if (!options->destination_limits)
        return true;
    claimant->limits = calloc(options->destination_count + 1, sizeof *claimant->limits);
    if (claimant->limits && options->destination_count > 0)
        memcpy(claimant->limits, options->destination_limits,
               options->destination_count * sizeof *claimant->limits);
    return claimant->limits != NULL;
}

pawl_status pawl_claimant_new(pawl_store *store, pawl_owner owner, const pawl_claim_options *opts,
                              pawl_claimant **ret_claimant, pawl_error *err)
{
    PAWLI_AUTO(pawl_claimant) claimant = NULL;
    pawl_claim_options options = PAWL_CLAIM_OPTIONS_INIT;
    pawl_status st;

    if (!store || !ret_claimant)
        return pawli_fail(err, PAWL_E_INVALID, "store and ret_claimant must not be NULL");
    if (pawl_owner_is_zero(owner))
        return pawli_fail(err, PAWL_E_INVALID,
                          "the owner is all zero: create one with pawl_owner_new()");
    st = pawli_options_copy(&options, sizeof options, opts, err);
    if (st != PAWL_OK)
        return st;
    claimant = calloc(1, sizeof *claimant);
    if (!claimant || !copy_options(claimant, &options))
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the claimant");
    claimant->store = store;
    claimant->owner = owner;
    claimant->reap = options.reap;
    *ret_claimant = pawl_claimant_take(&claimant);
    return PAWL_OK;
}

/* The slot that holds the id, or the empty slot where it would be inserted. */
static pawl_receipt *slot_of(pawl_receipt *slots, size_t capacity, int64_t id)
{
    size_t at = (size_t)((uint64_t)id * UINT64_C(0x9e3779b97f4a7c15) >> 17) & (capacity - 1);

    while (slots[at].id.value != 0 && slots[at].id.value != id)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

/* Makes room for `more` further ids; the table stays at most half full. */
static bool claimant_reserve(pawl_claimant *claimant, size_t more)
{
    size_t capacity = claimant->capacity ? claimant->capacity : 64;

    while ((claimant->used + more) * 2 > capacity)
        capacity *= 2;
    if (capacity == claimant->capacity)
        return true;
    pawl_receipt *slots = calloc(capacity, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < claimant->capacity; i++)
        if (claimant->slots[i].id.value != 0)
            *slot_of(slots, capacity, claimant->slots[i].id.value) = claimant->slots[i];
    free(claimant->slots);
    claimant->slots = slots;
    claimant->capacity = capacity;
    return true;
}

static void claimant_remember(pawl_claimant *claimant, const pawl_message *message)
{
    pawl_work_id id = pawl_message_work_id(message);
    pawl_receipt *slot = slot_of(claimant->slots, claimant->capacity, id.value);

    claimant->used += slot->id.value == 0;
    *slot = (pawl_receipt){id, pawl_message_fence(message)};
}

/* Removes one entry and closes the gap, so that later probes still find displaced entries. */
static void claimant_forget(pawl_claimant *claimant, int64_t id)
{
    pawl_receipt *slot = slot_of(claimant->slots, claimant->capacity, id);
    size_t at = (size_t)(slot - claimant->slots);

    if (slot->id.value == 0)
        return;
    *slot = (pawl_receipt){{0}, 0};
    claimant->used--;
    for (at = (at + 1) & (claimant->capacity - 1); claimant->slots[at].id.value != 0;
         at = (at + 1) & (claimant->capacity - 1)) {
        pawl_receipt moved = claimant->slots[at];
        claimant->slots[at] = (pawl_receipt){{0}, 0};
        *slot_of(claimant->slots, claimant->capacity, moved.id.value) = moved;
    }
}

pawl_status pawl_claimant_claim(pawl_claimant *claimant, int64_t lease_ms, int limit,
                                pawl_messages **ret_list, pawl_error *err)
{
    pawl_messages *list = NULL;
    pawl_claim_options options = PAWL_CLAIM_OPTIONS_INIT;
    pawl_status st;

    if (!claimant || !ret_list)
        return pawli_fail(err, PAWL_E_INVALID, "claimant and ret_list must not be NULL");
    options.topics = (const char *const *)claimant->topics;
    options.topic_count = claimant->topic_count;
    options.destinations = (const char *const *)claimant->destinations;
    options.destination_count = claimant->destination_count;
    options.destination_limits = claimant->limits;
    options.owner_name = claimant->owner_name;
    options.reap = claimant->reap;
    /* Reserve before the claim: if a fence could not be stored, its lease would be stuck until
     * expiry. */
    if (limit > 0 && limit <= PAWL_BATCH_MAX && !claimant_reserve(claimant, (size_t)limit))
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %d fences", limit);
    st = pawl_queue_claim(claimant->store, claimant->owner, lease_ms, limit, &options, &list, err);
    if (st != PAWL_OK)
        return st;
    for (size_t i = 0; i < pawl_messages_count(list); i++)
        claimant_remember(claimant, pawl_messages_at(list, i));
    *ret_list = list;
    return PAWL_OK;
}

/* Those items of `ids` that this claimant has claimed; the caller frees them. */
static pawl_status find_held(const pawl_claimant *claimant, const pawl_work_id *ids, size_t count,
                             pawl_receipt **ret_items, size_t *ret_count, pawl_error *err)
{
    if (!claimant || !ids)
        return pawli_fail(err, PAWL_E_INVALID, "claimant and ids must not be NULL");
    pawl_receipt *items = calloc(count + 1, sizeof *items);
    if (!items)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu items", count);
    size_t found = 0;
    for (size_t i = 0; i < count && claimant->capacity > 0; i++) {
        const pawl_receipt *slot = slot_of(claimant->slots, claimant->capacity, ids[i].value);
        if (ids[i].value != 0 && slot->id.value == ids[i].value)
            items[found++] = *slot;
    }
    *ret_items = items;
    *ret_count = found;
    return PAWL_OK;
}

static void forget_all(pawl_claimant *claimant, const pawl_receipt *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        claimant_forget(claimant, items[i].id.value);
}

pawl_status pawl_claimant_ack(pawl_claimant *claimant, const pawl_work_id *ids, size_t count,
                              size_t *ret_changed, pawl_error *err)
{
    PAWLI_AUTO_FREE pawl_receipt *items = NULL;
    size_t found = 0;
    pawl_status st = find_held(claimant, ids, count, &items, &found, err);

    if (st == PAWL_OK)
        st = pawl_queue_ack(claimant->store, claimant->owner, items, found, ret_changed, err);
    if (st == PAWL_OK)
        forget_all(claimant, items, found);
    return st;
}

pawl_status pawl_claimant_abandon(pawl_claimant *claimant, const pawl_work_id *ids, size_t count,
                                  const char *error, int64_t delay_ms, size_t *ret_changed,
                                  pawl_error *err)
{
    PAWLI_AUTO_FREE pawl_receipt *items = NULL;
    size_t found = 0;
    pawl_status st = find_held(claimant, ids, count, &items, &found, err);

    if (st == PAWL_OK)
        st = pawl_queue_abandon(claimant->store, claimant->owner, items, found, error, delay_ms,
                                ret_changed, err);
    if (st == PAWL_OK)
        forget_all(claimant, items, found);
    return st;
}

pawl_status pawl_claimant_fail(pawl_claimant *claimant, const pawl_work_id *ids, size_t count,
                               const char *error, size_t *ret_changed, pawl_error *err)
{
    PAWLI_AUTO_FREE pawl_receipt *items = NULL;
    size_t found = 0;
    pawl_status st = find_held(claimant, ids, count, &items, &found, err);

    if (st == PAWL_OK)
        st = pawl_queue_fail(claimant->store, claimant->owner, items, found, error, ret_changed,
                             err);
    if (st == PAWL_OK)
        forget_all(claimant, items, found);
    return st;
}

pawl_status pawl_claimant_renew(pawl_claimant *claimant, const pawl_work_id *ids, size_t count,
                                int64_t lease_ms, size_t *ret_changed, pawl_error *err)
{
    PAWLI_AUTO_FREE pawl_receipt *items = NULL;
    size_t found = 0;
    pawl_status st = find_held(claimant, ids, count, &items, &found, err);

    if (st == PAWL_OK)
        st = pawl_queue_renew(claimant->store, claimant->owner, items, found, lease_ms, ret_changed,
                              err);
    return st;
}

pawl_status pawl_claimant_release(pawl_claimant *claimant, const pawl_work_id *ids, size_t count,
                                  size_t *ret_changed, pawl_error *err)
{
    PAWLI_AUTO_FREE pawl_receipt *items = NULL;
    size_t found = 0;
    pawl_status st = find_held(claimant, ids, count, &items, &found, err);

    if (st == PAWL_OK)
        st = pawl_queue_release(claimant->store, claimant->owner, items, found, ret_changed, err);
    if (st == PAWL_OK)
        forget_all(claimant, items, found);
    return st;
}
