/* src/db/waiter_private.h - the insides of pawli_waiter, and how one is written down as asleep. */
#ifndef PAWLI_WAITER_PRIVATE_H
#define PAWLI_WAITER_PRIVATE_H

#include <stdatomic.h>

#include "db_private.h"
#include "waiter.h"

/* Engines that keep sleepers: what is known of ours. */
typedef struct pawli_sleeper {
    bool proven;       /* a notification of our own has come back: others would come, too */
    bool echo_awaited; /* one is under way */
    pawl_mono echo_sent;
    bool written;  /* senders can see us */
    int64_t epoch; /* a transaction id given out after that; 0: none yet */
    bool settled;  /* everybody with a lower id has ended: all who send now have seen us */
    pawl_mono busy_since;
    pawl_mono erased;
} pawli_sleeper;

struct pawli_waiter {
    pawli_db *db;
    const pawli_driver *driver;
    pawli_waiter_options options;
    uint8_t id[16];
    char token[37];
    pawli_bell bell;
    atomic_bool nudged;
    pawli_ear *ear;    /* NULL: none, or lost */
    pawl_mono try_ear; /* not before this */
    bool armed;
    const char *const *topics; /* the caller's, while it is armed */
    size_t topic_count;
    const char *const *destinations; /* the same; NULL: local messages */
    size_t destination_count;
    bool others;    /* all destinations but those */
    int watched_fd; /* ends waits, too; -1: none */
    uint64_t sent;  /* the wake's counter when it was armed */
    bool has_due;
    pawl_mono due; /* when the next message is ready */
    pawli_sleeper sleeper;
};

/* waiter.c: hear what has come, or lose the ear. */
void pawli_waiter_hear(pawli_waiter *waiter, pawli_heard *ret_heard);
void pawli_waiter_open_ear(pawli_waiter *waiter);
/* It is not opened again for this long. */
void pawli_waiter_lose_ear(pawli_waiter *waiter, int64_t pause_us);

/* sleeper.c */
/* Make sure that senders see us, as far as we can hear them. */
pawl_status pawli_sleeper_arm(pawli_waiter *waiter, pawl_error *err);
/* How long the next wait may last. */
int64_t pawli_sleeper_longest_us(const pawli_waiter *waiter);
/* Whether that has just become known to be too long or too short: time to arm again. */
bool pawli_sleeper_echo(pawli_waiter *waiter);
void pawli_sleeper_busy(pawli_waiter *waiter);
/* Senders need not notify us any more. Best effort. */
void pawli_sleeper_erase(pawli_waiter *waiter);

#endif
