/* src/db/waiter_private.h - the internals of pawli_waiter, and its registration as an idle worker.
 */
#ifndef PAWLI_WAITER_PRIVATE_H
#define PAWLI_WAITER_PRIVATE_H

#include <stdatomic.h>

#include "db_private.h"
#include "waiter.h"

/* For engines that register idle workers: the state of this waiter's registration. */
typedef struct pawli_idle_worker {
    bool proven;       /* our own notification has come back: those of others would, too */
    bool echo_awaited; /* one was sent and has not come back yet */
    pawl_mono echo_sent;
    bool written;        /* the registration is visible to senders */
    int64_t epoch;       /* a transaction id assigned after that; 0: none yet */
    bool visible_to_all; /* all transactions with a lower id have ended: all current senders see the
                     registration */
    pawl_mono busy_since;
    pawl_mono erased;
} pawli_idle_worker;

struct pawli_waiter {
    pawli_db *db;
    const pawli_driver *driver;
    pawli_waiter_options options;
    uint8_t id[16];
    char token[37];
    pawli_wake_fd wake_fd;
    atomic_bool called;
    pawli_commit_listener *listener; /* NULL: none, or lost */
    pawl_mono reopen_at;             /* do not reopen it before this */
    bool armed;
    const char *const *topics; /* the caller's, while it is armed */
    size_t topic_count;
    const char *const *destinations; /* the same; NULL: local messages */
    size_t destination_count;
    bool others;    /* all destinations except those */
    int watched_fd; /* also ends waits; -1: none */
    uint64_t sent;  /* the wake's counter when it was armed */
    bool has_due;
    pawl_mono due; /* when the next message is ready */
    pawli_idle_worker idle_worker;
};

/* waiter.c: reads the commit listener's events, or closes it on an error. */
void pawli_waiter_read_events(pawli_waiter *waiter, pawli_commit_events *ret_events);
void pawli_waiter_open_listener(pawli_waiter *waiter);
/* Closes the listener; it is not opened again for `pause_us`. */
void pawli_waiter_close_listener(pawli_waiter *waiter, int64_t pause_us);

/* idle_worker.c */
/* Registers this waiter with senders, if there is a commit listener. */
pawl_status pawli_idle_worker_arm(pawli_waiter *waiter, pawl_error *err);
/* The maximum duration of the next wait. */
int64_t pawli_idle_worker_max_wait_us(const pawli_waiter *waiter);
/* Whether that duration has just become too long or too short: time to arm again. */
bool pawli_idle_worker_echo(pawli_waiter *waiter);
void pawli_idle_worker_busy(pawli_waiter *waiter);
/* Removes the registration, so that senders no longer notify. Best effort. */
void pawli_idle_worker_unregister(pawli_waiter *waiter);

#endif
