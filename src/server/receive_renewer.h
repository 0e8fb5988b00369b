/*
 * src/server/receive_renewer.h - the lease renewer: renews leases and enforces timeouts while
 * handlers run.
 *
 * One thread renews leases and periodically probes the database; each may take as long as the
 * store's timeout. Another thread cancels calls that have timed out, or whose lease has expired by
 * this process's own clock because it could not be renewed: it never waits for the database.
 */
#ifndef PAWLI_RECEIVE_RENEWER_H
#define PAWLI_RECEIVE_RENEWER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <pawl/receiver.h>

/* One handler call, as the lease renewer sees it. */
typedef struct pawli_handler_call pawli_handler_call;
struct pawli_handler_call {
    pawli_handler_call *previous;
    pawli_handler_call *next;
    pawl_inbox_task *inbox_task; /* to be renewed; NULL: nothing to renew */
    const char *message_id; /* with its source, for the log; borrowed while it is in the list */
    const char *source;
    int64_t lease_ms;
    pawl_mono renew_at;
    pawl_mono cancel_at;  /* when it times out */
    pawl_mono lease_ends; /* from then on another receiver may take it over */
    bool in_flight;       /* a renewal is in progress */
    atomic_bool cancelled;
    int cancel_fd; /* readable once it is cancelled */
};

typedef struct pawli_receive_renewer {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pawl_store *store;
    const pawl_log_sink *log;
    pawli_handler_call *calls;
    pawl_mono probe_at;
    bool database_responds; /* the database responded to the last probe */
    char problem[256];
    bool cancelling; /* new calls are cancelled at once */
    bool added;      /* a call was added since the deadlines were last checked */
    bool ending;
    bool has_threads[2];
    pthread_t threads[2];
    void (*flush)(void *context);
    void *flush_context;
} pawli_receive_renewer;

/* Its lock exists from here until _destroy, whether it is started or not. */
void pawli_receive_renewer_init(pawli_receive_renewer *renewer);
void pawli_receive_renewer_destroy(pawli_receive_renewer *renewer);

/* `flush` is called about every two seconds, by the thread that never waits for the database. */
pawl_status pawli_receive_renewer_start(pawli_receive_renewer *renewer, pawl_store *store,
                                        const pawl_log_sink *log, void (*flush)(void *context),
                                        void *flush_context, pawl_error *err);
/* No-op if it was not started. */
void pawli_receive_renewer_done(pawli_receive_renewer *renewer);

typedef struct pawli_handler_call_times {
    pawl_mono began; /* not later than the start of the lease */
    int64_t lease_ms;
    int64_t timeout_ms; /* 0: no timeout */
} pawli_handler_call_times;

/*
 * Starts watching a call; without an inbox task there is no lease to renew. PAWL_E_NOMEM: no
 * descriptor.
 */
pawl_status pawli_receive_renewer_add(pawli_receive_renewer *renewer, pawli_handler_call *call,
                                      pawl_inbox_task *inbox_task,
                                      const pawli_handler_call_times *times, pawl_error *err);
/* Stops watching it; waits for a renewal in progress. */
void pawli_receive_renewer_remove(pawli_receive_renewer *renewer, pawli_handler_call *call);
/* Cancels all calls, and all that are added from now on. */
void pawli_receive_renewer_cancel_all(pawli_receive_renewer *renewer);

/* Whether the database responded to the last probe; if not, `ret_trouble` is the reason. */
bool pawli_receive_renewer_healthy(pawli_receive_renewer *renewer, char *ret_trouble, size_t room);

#endif
