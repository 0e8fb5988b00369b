/* src/transport/recipient.c - what a delivery knows of one destination: its places, its breaker. */
#include "recipient.h"

#include <stdlib.h>
#include <string.h>

void pawli_recipients_done(pawli_recipients *recipients)
{
    for (size_t i = 0; i < recipients->count; i++)
        free(recipients->items[i]);
    free(recipients->items);
    *recipients = (pawli_recipients){0};
}

static size_t place_of(const pawli_recipients *recipients, const char *name)
{
    size_t low = 0, high = recipients->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(recipients->items[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool grow(pawli_recipients *recipients)
{
    size_t capacity = recipients->capacity ? recipients->capacity * 2 : 16;

    if (recipients->count < recipients->capacity)
        return true;
    pawli_recipient **items = realloc(recipients->items, capacity * sizeof *items);
    if (!items)
        return false;
    recipients->items = items;
    recipients->capacity = capacity;
    return true;
}

pawli_recipient *pawli_recipients_get(pawli_recipients *recipients, const char *name,
                                      const pawli_breaker_policy *policy)
{
    size_t at = place_of(recipients, name), size = strlen(name) + 1;

    if (at < recipients->count && strcmp(recipients->items[at]->name, name) == 0)
        return recipients->items[at];
    pawli_recipient *recipient = grow(recipients) ? calloc(1, sizeof *recipient + size) : NULL;
    if (!recipient)
        return NULL;
    memcpy(recipient->name, name, size);
    recipient->stats.destination = recipient->name;
    recipient->quiet_until.us = recipient->answered_at.us = recipient->used_at.us = INT64_MIN;
    recipient->woken = -1;
    pawli_breaker_init(&recipient->breaker, policy);
    memmove(&recipients->items[at + 1], &recipients->items[at],
            (recipients->count - at) * sizeof *recipients->items);
    recipients->items[at] = recipient;
    recipients->count++;
    return recipient;
}

/*
 * An open breaker matters until its next trial is due. After that, with nothing to send, it would
 * stay half-open for ever: that of a destination which is gone, and whose messages have expired.
 */
static bool is_idle(pawli_recipient *recipient, pawl_mono now, int64_t idle_us)
{
    bool spared =
        now.us < recipient->quiet_until.us || (recipient->breaker.state != PAWLI_BREAKER_CLOSED &&
                                               now.us < recipient->breaker.retry_at.us);

    if (recipient->wanted || recipient->users > 0 || spared || recipient->used_at.us == INT64_MIN)
        recipient->used_at = now;
    return now.us - recipient->used_at.us >= idle_us;
}

size_t pawli_recipients_forget(pawli_recipients *recipients, pawl_mono now, int64_t idle_us)
{
    size_t kept = 0, count = recipients->count;

    for (size_t i = 0; i < count; i++) {
        if (is_idle(recipients->items[i], now, idle_us))
            free(recipients->items[i]);
        else
            recipients->items[kept++] = recipients->items[i];
    }
    recipients->count = kept;
    if (kept < recipients->capacity / 4) {
        pawli_recipient **items = realloc(recipients->items, (kept + 16) * sizeof *items);
        if (items) {
            recipients->items = items;
            recipients->capacity = kept + 16;
        }
    }
    return count - kept;
}

static size_t concurrency_of(const pawli_recipient *recipient, const pawl_services *services)
{
    static const pawl_service_options usual = PAWL_SERVICE_OPTIONS_INIT;
    const pawl_service *service = NULL;
    const char *url = NULL;

    /* One that nobody knows: its messages are claimed to be failed. */
    if (pawl_services_find(services, recipient->name, &service, &url, NULL) != PAWL_OK)
        return (size_t)usual.concurrency;
    return (size_t)pawl_service_concurrency(service);
}

static void end_pauses(pawli_recipient *recipient)
{
    recipient->quiet_until.us = INT64_MIN;
    pawli_breaker_wake(&recipient->breaker);
}

bool pawli_recipient_heed(pawli_recipient *recipient, int64_t woken)
{
    bool news = recipient->woken >= 0 && woken > recipient->woken;

    if (woken > recipient->woken)
        recipient->woken = woken;
    if (!news)
        return false;
    end_pauses(recipient);
    return true;
}

void pawli_recipient_wake(pawli_recipient *recipient)
{
    end_pauses(recipient);
    recipient->woken = -1;
}

size_t pawli_recipient_room(pawli_recipient *recipient, const pawl_services *services,
                            pawl_mono now)
{
    if (now.us < recipient->quiet_until.us || !pawli_breaker_allows(&recipient->breaker, now))
        return 0;
    if (recipient->breaker.state == PAWLI_BREAKER_HALF_OPEN)
        return recipient->stats.in_flight == 0;
    size_t places = concurrency_of(recipient, services);
    return places > recipient->stats.in_flight ? places - recipient->stats.in_flight : 0;
}

pawl_mono pawli_recipient_ready_at(const pawli_recipient *recipient)
{
    int64_t at = recipient->quiet_until.us;

    if (recipient->breaker.retry_at.us > at)
        at = recipient->breaker.retry_at.us;
    return (pawl_mono){recipient->wanted && at != INT64_MIN ? at : INT64_MAX};
}
