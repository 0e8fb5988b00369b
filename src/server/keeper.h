/*
 * src/server/keeper.h - the thread that looks after messages while their handlers run: it prolongs
 * leases, cancels what takes too long, and asks now and then whether the database answers.
 */
#ifndef PAWLI_SERVER_KEEPER_H
#define PAWLI_SERVER_KEEPER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <pawl/receiver.h>

/* One handler's call, as the keeper sees it. */
typedef struct pawli_ward pawli_ward;
struct pawli_ward {
    pawli_ward *previous;
    pawli_ward *next;
    pawl_arrival *arrival; /* to be renewed; NULL: there is nothing to renew */
    int64_t lease_ms;
    pawl_mono renew_at;
    pawl_mono cancel_at; /* when its time is up */
    bool in_hand;        /* the keeper is renewing it */
    atomic_bool cancelled;
    int cancel_fd; /* readable once it is cancelled */
};

typedef struct pawli_server_keeper {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pawl_store *store;
    const pawl_log_sink *log;
    pawli_ward *wards;
    pawl_mono pulse_at;
    bool answers; /* the database, when it was asked last */
    char trouble[256];
    bool cancelling; /* who comes from now on is cancelled at once */
    bool ending;
    bool has_thread;
    pthread_t thread;
} pawli_server_keeper;

/* Its lock lives from here to the end, whether it is started or not. */
void pawli_server_keeper_init(pawli_server_keeper *keeper);
void pawli_server_keeper_destroy(pawli_server_keeper *keeper);

pawl_status pawli_server_keeper_start(pawli_server_keeper *keeper, pawl_store *store,
                                      const pawl_log_sink *log, pawl_error *err);
/* Fine if it was not started. */
void pawli_server_keeper_done(pawli_server_keeper *keeper);

/* Look after it from now on; timeout_ms 0: it may take any time. PAWL_E_NOMEM: no descriptor. */
pawl_status pawli_server_keeper_add(pawli_server_keeper *keeper, pawli_ward *ward,
                                    pawl_arrival *arrival, int64_t lease_ms, int64_t timeout_ms,
                                    pawl_error *err);
/* No longer; waits for a renewal that is under way. */
void pawli_server_keeper_remove(pawli_server_keeper *keeper, pawli_ward *ward);
/* All there are, and all that come from now on. */
void pawli_server_keeper_cancel_all(pawli_server_keeper *keeper);

/* Whether the database answered when it was asked last; if not, `ret_trouble` says why. */
bool pawli_server_keeper_healthy(pawli_server_keeper *keeper, char *ret_trouble, size_t room);

#endif
