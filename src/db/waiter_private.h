/* src/db/waiter_private.h - the internals of pawli_waiter, and how the engines let it learn of
 * commits by others. */
#ifndef PAWLI_WAITER_PRIVATE_H
#define PAWLI_WAITER_PRIVATE_H

#include <stdatomic.h>

#include "db_private.h"
#include "waiter.h"

struct pawli_waiter {
    pawli_db *db;
    const pawli_driver *driver;
    const pawli_wait_method *method;
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
    bool notified; /* senders, also those of this process, notify it while it has a listener */
    void *method_memory; /* the method's, from its open() */
};

/* The state of one wait. */
typedef struct pawli_wait {
    pawl_mono deadline;
    pawl_mono max_until;   /* the maximum duration of the wait has passed */
    int64_t poll_us;       /* the current poll interval */
    pawl_mono next_poll;   /* the next poll for a commit */
    pawl_mono quiet_until; /* the listener's descriptor is ignored until then */
    int64_t quiet_us;      /* the last such pause */
    uint64_t stopped;      /* the wake's interrupt counter when the wait began */
} pawli_wait;

/*
 * How the waiters of an engine learn of commits by others. All of it runs in the waiter's thread.
 * open(), close() and disarm() may be NULL.
 */
struct pawli_wait_method {
    pawl_status (*open)(pawli_waiter *waiter, pawl_error *err);
    void (*close)(pawli_waiter *waiter);
    /* From here on commits by others end the wait; earlier events are discarded. */
    pawl_status (*arm)(pawli_waiter *waiter, pawl_error *err);
    /* A claim found something, or a wait has ended: waiter->armed says which. */
    void (*disarm)(pawli_waiter *waiter);
    /* Sets when the wait must end and when it polls. */
    void (*begin)(const pawli_waiter *waiter, pawli_wait *wait);
    /* Whether a commit ends the wait; called whenever something has happened. */
    pawl_status (*check)(pawli_waiter *waiter, pawli_wait *wait, pawli_woken *ret_why,
                         bool *ret_woken, pawl_error *err);
};

/* waiter_poll.c: the commit listener gets every commit; without one, the waiter polls. */
extern const pawli_wait_method pawli_wait_by_polling;

/* waiter.c: reads the commit listener's events, or closes it on an error. */
void pawli_waiter_read_events(pawli_waiter *waiter, pawli_commit_events *ret_events);
void pawli_waiter_open_listener(pawli_waiter *waiter);
/* Closes the listener; it is not opened again for `pause_us`. */
void pawli_waiter_close_listener(pawli_waiter *waiter, int64_t pause_us);
/* Reads when the next message is due into has_due and due. */
pawl_status pawli_waiter_query_due(pawli_waiter *waiter, pawl_error *err);

#endif
