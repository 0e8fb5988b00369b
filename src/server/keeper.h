/*
 * src/server/keeper.h - the lease renewer: renews leases and enforces timeouts while handlers run.
 *
 * One thread renews leases and periodically probes the database; each may take as long as the
 * store's timeout. Another thread cancels calls that have timed out, or whose lease has expired by
 * this process's own clock because it could not be renewed: it never waits for the database.
 */
#ifndef PAWLI_SERVER_KEEPER_H
#define PAWLI_SERVER_KEEPER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <pawl/receiver.h>

/* One handler call, as the lease renewer sees it. */
typedef struct pawli_ward pawli_ward;
struct pawli_ward {
    pawli_ward *previous;
    pawli_ward *next;
    pawl_arrival *arrival; /* to be renewed; NULL: nothing to renew */
    int64_t lease_ms;
    pawl_mono renew_at;
    pawl_mono cancel_at;  /* when it times out */
    pawl_mono lease_ends; /* from then on another receiver may take it over */
    bool in_hand;         /* a renewal is in progress */
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
    bool answers; /* the database responded to the last probe */
    char trouble[256];
    bool cancelling; /* new calls are cancelled at once */
    bool added;      /* a call was added since the deadlines were last checked */
    bool ending;
    bool has_threads[2];
    pthread_t threads[2];
    void (*flush)(void *context);
    void *flush_context;
} pawli_server_keeper;

/* Its lock exists from here until _destroy, whether it is started or not. */
void pawli_server_keeper_init(pawli_server_keeper *keeper);
void pawli_server_keeper_destroy(pawli_server_keeper *keeper);

/* `flush` is called about every two seconds, by the thread that never waits for the database. */
pawl_status pawli_server_keeper_start(pawli_server_keeper *keeper, pawl_store *store,
                                      const pawl_log_sink *log, void (*flush)(void *context),
                                      void *flush_context, pawl_error *err);
/* No-op if it was not started. */
void pawli_server_keeper_done(pawli_server_keeper *keeper);

typedef struct pawli_ward_times {
    pawl_mono began; /* not later than the start of the lease */
    int64_t lease_ms;
    int64_t timeout_ms; /* 0: no timeout */
} pawli_ward_times;

/*
 * Starts watching a call; without an arrival there is no lease to renew. PAWL_E_NOMEM: no
 * descriptor.
 */
pawl_status pawli_server_keeper_add(pawli_server_keeper *keeper, pawli_ward *ward,
                                    pawl_arrival *arrival, const pawli_ward_times *times,
                                    pawl_error *err);
/* Stops watching it; waits for a renewal in progress. */
void pawli_server_keeper_remove(pawli_server_keeper *keeper, pawli_ward *ward);
/* Cancels all calls, and all that are added from now on. */
void pawli_server_keeper_cancel_all(pawli_server_keeper *keeper);

/* Whether the database responded to the last probe; if not, `ret_trouble` is the reason. */
bool pawli_server_keeper_healthy(pawli_server_keeper *keeper, char *ret_trouble, size_t room);

#endif
