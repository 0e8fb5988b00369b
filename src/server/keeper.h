/*
 * src/server/keeper.h - what is done for messages while their handlers run.
 *
 * One thread renews leases and asks now and then whether the database answers; each may take as
 * long as the store's timeout. Another one cancels calls whose time is up, or whose lease has ended
 * by this process's own clock since it could not be renewed: it never waits for the database.
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
    pawl_mono cancel_at;  /* when its time is up */
    pawl_mono lease_ends; /* at the latest then another receiver may take it over */
    bool in_hand;         /* the keeper is renewing it */
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
    bool added;      /* a call, since the deadlines were checked last */
    bool ending;
    bool has_threads[2];
    pthread_t threads[2];
    void (*flush)(void *context);
    void *flush_context;
} pawli_server_keeper;

/* Its lock lives from here to the end, whether it is started or not. */
void pawli_server_keeper_init(pawli_server_keeper *keeper);
void pawli_server_keeper_destroy(pawli_server_keeper *keeper);

/* `flush` is called every two seconds or so, by the thread that never waits for the database. */
pawl_status pawli_server_keeper_start(pawli_server_keeper *keeper, pawl_store *store,
                                      const pawl_log_sink *log, void (*flush)(void *context),
                                      void *flush_context, pawl_error *err);
/* Fine if it was not started. */
void pawli_server_keeper_done(pawli_server_keeper *keeper);

typedef struct pawli_ward_times {
    pawl_mono began; /* not later than the lease did */
    int64_t lease_ms;
    int64_t timeout_ms; /* 0: it may take any time */
} pawli_ward_times;

/* From now on; without an arrival there is no lease to renew. PAWL_E_NOMEM: no descriptor. */
pawl_status pawli_server_keeper_add(pawli_server_keeper *keeper, pawli_ward *ward,
                                    pawl_arrival *arrival, const pawli_ward_times *times,
                                    pawl_error *err);
/* No longer; waits for a renewal that is under way. */
void pawli_server_keeper_remove(pawli_server_keeper *keeper, pawli_ward *ward);
/* All there are, and all that come from now on. */
void pawli_server_keeper_cancel_all(pawli_server_keeper *keeper);

/* Whether the database answered when it was asked last; if not, `ret_trouble` says why. */
bool pawli_server_keeper_healthy(pawli_server_keeper *keeper, char *ret_trouble, size_t room);

#endif
