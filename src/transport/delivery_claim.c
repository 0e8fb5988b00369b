/* src/transport/delivery_claim.c - lists destinations, and claims as much as they have room for. */
#include <stdlib.h>
#include <string.h>

#include "delivery_private.h"
#include "fail.h"
#include "log.h"
#include "scope.h"
#include "platform.h"
#include <pawl_private/delivery_store.h>

/* The maximum number of names in one claim. */
#define NAMES_MAX 1000
/* While there is work, new destinations are searched for at this interval. */
#define TARGETS_US INT64_C(250000)
/* While sends are in flight, the waiter is armed at most this often. */
#define ARM_US INT64_C(50000)
#define CLOCK_US INT64_C(60000000)
/* A destination unused for this long is dropped, with its statistics. */
#define FORGET_US INT64_C(300000000)
/* A claim whose connection was lost may still be committed by the server for this long. */
#define STILL_COMMITTING_US INT64_C(5000000)
#define ASK_AGAIN_US INT64_C(500000)

/* ---- the destinations ---- */

static pawl_status mark_page(pawl_delivery *delivery, const pawl_destinations *list,
                             pawl_error *err)
{
    for (size_t i = 0; i < pawl_destinations_count(list); i++) {
        pawli_destination *destination =
            pawli_delivery_recipient(delivery, pawl_destinations_at(list, i));
        if (!destination)
            return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the destinations");
        destination->wanted = true;
        destination->is_inherited |= !delivery->has_inherited;
        if (pawli_destination_read_wake(destination, pawl_destinations_woken(list, i)))
            pawli_destination_log(destination, &delivery->options.log,
                                  "{destination}: woken by an operator, sending again now");
    }
    return PAWL_OK;
}

/* The names of dropped destinations may be in the list of those that the waiter ignores. */
static void forget_destinations(pawl_delivery *delivery)
{
    pthread_mutex_lock(&delivery->lock);
    size_t removed =
        pawli_destinations_forget(&delivery->destinations, pawli_mono_now(), FORGET_US);
    pthread_mutex_unlock(&delivery->lock);
    if (removed == 0)
        return;
    delivery->left_out_count = 0;
    delivery->armed = false;
}

static pawl_status find_destinations(pawl_delivery *delivery, pawl_error *err)
{
    PAWLI_AUTO_FREE char *after = NULL;
    bool more = true;
    pawl_status st = PAWL_OK;

    for (size_t i = 0; i < delivery->destinations.count; i++)
        delivery->destinations.items[i]->wanted = false;
    while (more && st == PAWL_OK) {
        PAWLI_AUTO(pawl_destinations) list = NULL;
        pawli_send_pump_lend(delivery);
        st = pawl_queue_destinations(delivery->store, after, NAMES_MAX, &list, err);
        pawli_send_pump_reclaim(delivery);
        if (st == PAWL_OK)
            st = mark_page(delivery, list, err);
        more = st == PAWL_OK && pawl_destinations_more(list);
        if (!more)
            break;
        free(after);
        after = strdup(pawl_destinations_last(list));
        if (!after)
            st = pawli_fail(err, PAWL_E_NOMEM, "out of memory for the destinations");
    }
    /* After a failure all destinations count as due: the claim finds out. */
    for (size_t i = 0; st != PAWL_OK && i < delivery->destinations.count; i++)
        delivery->destinations.items[i]->wanted = true;
    if (st == PAWL_OK) {
        delivery->destinations_at = pawli_mono_now();
        delivery->has_inherited = true;
        forget_destinations(delivery);
    }
    return st;
}

/* ---- destinations that the service map prevented from sending ---- */

/*
 * A wake is an operator's right, which the role of this process need not have. Its messages are
 * then retried at their time.
 */
static pawl_status forgive_denied_wake(const pawl_delivery *delivery,
                                       const pawli_destination *destination, pawl_status st)
{
    if (st != PAWL_E_DENIED)
        return st;
    pawli_destination_log(
        destination, &delivery->options.log,
        "{destination}: this database user may not wake it (role pawl_admin): messages "
        "that the configuration prevented are retried at their time");
    return PAWL_OK;
}

/* A few at a time, so that nothing else waits for thousands of destinations. */
#define INHERITED_PER_TURN 10

/* Whether there may be such messages, as far as this process has not tried the destination in vain.
 */
static bool destination_take_inherited(pawl_delivery *delivery, pawli_destination *destination)
{
    bool inherited = destination->is_inherited;

    destination->is_inherited = false;
    if (!inherited)
        return false;
    pthread_mutex_lock(&delivery->lock);
    inherited = !destination->unsendable;
    pthread_mutex_unlock(&delivery->lock);
    return inherited;
}

/*
 * What the configuration of an earlier process prevented is retried now, as after a reload: this
 * one's may be corrected. Messages that wait for other reasons keep their time.
 */
static pawl_status wake_inherited(pawl_delivery *delivery, pawl_error *err)
{
    pawl_status st = PAWL_OK;
    int calls = 0;

    for (size_t i = 0;
         st == PAWL_OK && calls < INHERITED_PER_TURN && i < delivery->destinations.count; i++) {
        pawli_destination *destination = delivery->destinations.items[i];
        size_t changed = 0;

        if (!destination_take_inherited(delivery, destination))
            continue;
        calls++;
        pawli_send_pump_lend(delivery);
        st = pawl_queue_wake_by_error(delivery->store, destination->name, PAWLI_CONFIGURATION_ERROR,
                                      &changed, err);
        pawli_send_pump_reclaim(delivery);
        st = forgive_denied_wake(delivery, destination, st);
        destination->is_inherited = st != PAWL_OK;
        if (changed == 0)
            continue;
        pawli_destination_wake(destination);
        pawli_destination_log(destination, &delivery->options.log,
                              "{destination}: an earlier configuration prevented messages, sending "
                              "them again now");
    }
    return st;
}

static pawl_status wake_one(pawl_delivery *delivery, pawli_destination *destination,
                            pawl_error *err)
{
    pawl_status st;

    pawli_send_pump_lend(delivery);
    st = pawl_queue_wake(delivery->store, destination->name, NULL, err);
    pawli_send_pump_reclaim(delivery);
    if (st == PAWL_E_DENIED)
        return forgive_denied_wake(delivery, destination, st);
    if (st == PAWL_OK) {
        pawli_destination_wake(destination);
        pawli_destination_log(destination, &delivery->options.log,
                              "{destination}: the services were reloaded, sending again now");
    }
    return st;
}

/* All deferrals are stored before this, so that a wake finds them. */
pawl_status pawli_delivery_wake_unsendable(pawl_delivery *delivery, pawl_error *err)
{
    pawl_status st = wake_inherited(delivery, err);

    pthread_mutex_lock(&delivery->lock);
    bool changed = delivery->map_changed;
    delivery->map_changed = false;
    pthread_mutex_unlock(&delivery->lock);
    for (size_t i = 0; changed && st == PAWL_OK && i < delivery->destinations.count; i++) {
        pawli_destination *destination = delivery->destinations.items[i];
        pthread_mutex_lock(&delivery->lock);
        bool wanted = destination->unsendable;
        destination->unsendable = false;
        pthread_mutex_unlock(&delivery->lock);
        if (wanted)
            st = wake_one(delivery, destination, err);
        if (st == PAWL_OK)
            continue;
        pthread_mutex_lock(&delivery->lock);
        destination->unsendable = delivery->map_changed = true;
        pthread_mutex_unlock(&delivery->lock);
    }
    return st;
}

/* ---- room of the destinations ---- */

typedef struct claim_plan {
    const char *names[NAMES_MAX];
    int64_t limits[NAMES_MAX];
    size_t count;
    int limit;
} claim_plan;

static void claim_plan_add(const pawl_delivery *delivery, claim_plan *plan,
                           const pawli_destination *destination, size_t room)
{
    size_t places = (size_t)delivery->options.max_in_flight - delivery->in_flight.count;
    size_t most =
        (size_t)delivery->options.batch < places ? (size_t)delivery->options.batch : places;
    size_t left = most - (size_t)plan->limit;

    if (room > left)
        room = left;
    if (room == 0 || plan->count == NAMES_MAX)
        return;
    plan->names[plan->count] = destination->name;
    plan->limits[plan->count++] = (int64_t)room;
    plan->limit += (int)room;
}

static bool leave_out(pawl_delivery *delivery, size_t at, const char *name)
{
    if (at == delivery->left_out_capacity) {
        size_t capacity = at ? at * 2 : 16;
        const char **names = realloc(delivery->left_out, capacity * sizeof *names);
        if (!names)
            return false;
        delivery->left_out = names;
        delivery->left_out_capacity = capacity;
    }
    /* The waiter must wait for exactly those destinations that can be claimed. */
    if (at >= delivery->left_out_count || delivery->left_out[at] != name)
        delivery->armed = false;
    delivery->left_out[at] = name;
    return true;
}

/* Lists what to claim, starting with another destination each time, and which destinations not
 * to wait for. */
static pawl_status claim_plan_make(pawl_delivery *delivery, claim_plan *plan, pawl_error *err)
{
    PAWLI_AUTO(pawl_services) services = pawli_delivery_services(delivery);
    size_t count = delivery->destinations.count, left_out = 0;
    pawl_mono now = pawli_mono_now();
    bool memory = true, full = delivery->in_flight.count >= (size_t)delivery->options.max_in_flight;

    plan->count = 0;
    plan->limit = 0;
    for (size_t i = 0; i < count; i++) {
        pawli_destination *destination =
            delivery->destinations.items[(i + delivery->rotation) % count];
        size_t room = full ? 0 : pawli_destination_room(destination, services, now);
        if (room > 0 && destination->wanted)
            claim_plan_add(delivery, plan, destination, room);
        if ((int)destination->stats.breaker != (int)destination->breaker.state) {
            pthread_mutex_lock(&delivery->lock);
            destination->stats.breaker = (pawl_breaker_state)destination->breaker.state;
            pthread_mutex_unlock(&delivery->lock);
        }
    }
    for (size_t i = 0; memory && i < count; i++) { /* in a stable order */
        pawli_destination *destination = delivery->destinations.items[i];
        if (full || pawli_destination_room(destination, services, now) == 0)
            memory = leave_out(delivery, left_out++, destination->name);
    }
    if (!memory)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the destinations");
    delivery->armed &= left_out == delivery->left_out_count;
    delivery->left_out_count = left_out;
    delivery->rotation++;
    return PAWL_OK;
}

/* ---- adopting claimed messages ---- */

static bool claim_is_known(const pawli_send_ops *ops, pawl_receipt receipt)
{
    for (const pawli_send_op *at = ops->first; at; at = at->next)
        if (at->receipt.id.value == receipt.id.value && at->receipt.fence == receipt.fence)
            return true;
    return false;
}

/* Sends the new messages of the list, and gives them ownership of the list. */
static pawl_status claim_adopt(pawl_delivery *delivery, pawl_messages *take_list, bool resumed,
                               pawl_mono claimed_at, pawl_error *err)
{
    pawli_claim_batch *batch = calloc(1, sizeof *batch);
    size_t count = pawl_messages_count(take_list);
    bool memory = batch != NULL;

    if (batch) {
        *batch = (pawli_claim_batch){take_list, 1};
        take_list = NULL;
    }
    for (size_t i = 0; memory && i < count; i++) {
        const pawl_message *message = pawl_messages_at(batch->list, i);
        pawl_receipt receipt = {pawl_message_work_id(message), pawl_message_fence(message)};
        if (resumed && (claim_is_known(&delivery->in_flight, receipt) ||
                        claim_is_known(&delivery->completed, receipt)))
            continue;
        memory = pawli_send_op_begin(delivery, batch, message, claimed_at);
        delivery->moved += memory;
    }
    if (batch && --batch->users == 0) {
        pawl_messages_free(batch->list);
        free(batch);
    }
    pawl_messages_free(take_list);
    if (memory)
        return PAWL_OK;
    delivery->in_doubt = true; /* they are leased: read them again when there is memory */
    return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu messages", count);
}

bool pawli_delivery_in_doubt(const pawl_delivery *delivery)
{
    return delivery->in_doubt || pawli_mono_now().us < delivery->ask_until.us;
}

pawl_status pawli_delivery_resume(pawl_delivery *delivery, pawl_error *err)
{
    pawl_mono now = pawli_mono_now();
    pawl_messages *list = NULL;
    pawl_status st;

    if (!pawli_delivery_in_doubt(delivery) ||
        (!delivery->in_doubt && now.us < delivery->claimed_at.us + ASK_AGAIN_US))
        return PAWL_OK;
    pawli_send_pump_lend(delivery);
    st = pawl_queue_owned(delivery->store, delivery->owner, &list, err);
    pawli_send_pump_reclaim(delivery);
    if (st != PAWL_OK)
        return st;
    if (delivery->in_doubt)
        delivery->ask_until = pawli_mono_after(now, STILL_COMMITTING_US);
    delivery->in_doubt = false;
    delivery->claimed_at = now;
    return claim_adopt(delivery, list, true, now, err);
}

/* ---- claiming ---- */

static pawl_status measure_clock(pawl_delivery *delivery, pawl_error *err)
{
    pawl_mono now = pawli_mono_now();
    pawl_wall clock;
    pawl_status st;

    if (now.us < delivery->clock_at.us + CLOCK_US)
        return PAWL_OK;
    pawli_send_pump_lend(delivery);
    st = pawl_store_now(delivery->store, &clock, err);
    pawli_send_pump_reclaim(delivery);
    if (st != PAWL_OK)
        return st;
    delivery->clock_at = now;
    delivery->clock_ahead_us = clock.us - now.us;
    return PAWL_OK;
}

static pawl_status claim_planned(pawl_delivery *delivery, const claim_plan *plan, size_t *ret_acks,
                                 pawl_error *err)
{
    PAWLI_AUTO_FREE pawl_receipt *acks = NULL;
    pawl_claim_options options = PAWL_CLAIM_OPTIONS_INIT;
    pawl_mono claimed_at = pawli_mono_now();
    pawl_messages *list = NULL;
    size_t ack_count = 0;
    pawl_status st = pawli_delivery_acks(delivery, &acks, &ack_count, err);

    *ret_acks = ack_count;
    if (st != PAWL_OK)
        return st;
    options.destinations = plan->names;
    options.destination_count = plan->count;
    options.destination_limits = plan->limits;
    options.owner_name = delivery->options.owner_name;
    pawli_send_pump_lend(delivery);
    st = pawl_queue_ack_and_claim(delivery->store, delivery->owner, acks, ack_count,
                                  delivery->options.lease_ms, plan->limit, &options, NULL, &list,
                                  err);
    pawli_send_pump_reclaim(delivery);
    delivery->in_doubt |= st == PAWL_E_IN_DOUBT;
    if (st != PAWL_OK)
        return st;
    pawli_delivery_acked(delivery, ack_count);
    delivery->drained = pawl_messages_count(list) < (size_t)plan->limit;
    return claim_adopt(delivery, list, false, claimed_at, err);
}

/* The rejection may be caused by one of the acknowledgements: stored without the claim, the
 * batch is split until that one is found. */
static pawl_status claim_divided(pawl_delivery *delivery, const claim_plan *plan, pawl_error *err)
{
    size_t acks = 0;
    pawl_status st = claim_planned(delivery, plan, &acks, err);

    if (!pawli_store_error_is_refusal(st) || acks == 0)
        return st;
    st = pawli_delivery_store_done(delivery, err);
    return st == PAWL_OK ? claim_planned(delivery, plan, &acks, err) : st;
}

/* Arms the waiter: a message that becomes ready after this, for a destination with room, ends
 * the wait. */
static pawl_status claim_arm(pawl_delivery *delivery, pawl_error *err)
{
    pawli_send_pump_lend(delivery);
    pawl_status st =
        pawl_waiter_arm_others(delivery->waiter, delivery->left_out, delivery->left_out_count, err);
    pawli_send_pump_reclaim(delivery);

    delivery->armed = st == PAWL_OK;
    delivery->armed_at = pawli_mono_now();
    return st;
}

static bool time_to_arm(const pawl_delivery *delivery, bool may_arm)
{
    return may_arm && delivery->drained && !delivery->armed &&
           (delivery->in_flight.count == 0 ||
            pawli_mono_now().us >= delivery->armed_at.us + ARM_US);
}

pawl_status pawli_delivery_claim(pawl_delivery *delivery, bool may_arm, pawl_error *err)
{
    size_t moved = delivery->moved;
    claim_plan plan;
    pawl_status st = measure_clock(delivery, err);

    if (st == PAWL_OK)
        st = claim_plan_make(delivery, &plan, err);
    if (st != PAWL_OK)
        return st;
    bool arming = time_to_arm(delivery, may_arm);
    if (arming)
        st = claim_arm(delivery, err);
    /* After arming: a destination used before must be found even if it is new again. */
    if (st == PAWL_OK &&
        (arming || pawli_mono_now().us >= delivery->destinations_at.us + TARGETS_US)) {
        st = find_destinations(delivery, err);
        if (st == PAWL_OK)
            st = claim_plan_make(delivery, &plan, err);
    }
    if (st != PAWL_OK)
        return st;
    if (plan.count == 0)
        delivery->drained = true;
    st = plan.count > 0 ? claim_divided(delivery, &plan, err)
                        : pawli_delivery_store_done(delivery, err);
    if (delivery->moved > moved && delivery->armed) {
        pawl_waiter_disarm(delivery->waiter);
        delivery->armed = false;
    }
    return st;
}
