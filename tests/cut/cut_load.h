/*
 * tests/cut/cut_load.h - threads that send and work without a pause, and keep accounts.
 *
 * Senders take one number after the other. A number is stored (the library, or the application's
 * own COMMIT, said so) or given up (it was said for certain that it was not stored). Workers note
 * every number they are handed; leases never end, so that nothing may be handed out twice.
 */
#ifndef PAWL_CUT_LOAD_H
#define PAWL_CUT_LOAD_H

#include <pthread.h>
#include <stdatomic.h>

#include "queue_fixture.h"

#define LOAD_SENDERS 4 /* the last one sends in transactions of its own */
#define LOAD_WORKERS 3
#define LOAD_NUMBERS 100000 /* per sender, at most */

typedef enum load_send_state { LOAD_UNUSED, LOAD_STORED, LOAD_GIVEN_UP } load_send_state;

typedef struct load {
    pawl_store *store; /* one for all, never opened again */
    const char *target;
    const char *insert_order;   /* "INSERT INTO ... VALUES (%d)" */
    const char *count_order;    /* "SELECT count(*) ... WHERE n = %d" */
    atomic_bool enough;         /* senders end */
    atomic_int senders;         /* that have not ended */
    atomic_int_fast64_t fence;  /* the highest that was returned */
    unsigned char *send_states; /* load_send_state by number */
    atomic_uchar *hands;        /* how often the number was handed out */
    atomic_long doubts, refusals;
    pthread_mutex_t lock;    /* guards what follows */
    pthread_cond_t progress; /* there is a result */
    long answers;
    int64_t killed_ms;   /* when the server was killed last; 0: it is well */
    int64_t recovery_ms; /* from then to the first answer to a later question; 0: not yet */
} load;

void load_init(load *l, pawl_store *store);
void load_done(load *l);

/* Bodies for test_threads(): NULL, or what is wrong. */
const char *load_send(load *l, int sender);
const char *load_send_wrapped(load *l, int sender);
const char *load_work(load *l, int worker);

/* Waits for `count` more results; false: not in time. */
bool load_await_answers(load *l, long count);
/* The server is killed now; wait until it answers again. 0: it did not. */
void load_note_kill(load *l);
int64_t load_await_recovery(load *l);

/* A question that was asked at `asked_ms` has been answered. */
void load_answered(load *l, int64_t asked_ms);
/* Counts a result that is not PAWL_OK; returns NULL, or an error if it is not allowed. */
const char *load_refused(load *l, const char *what, pawl_status st, const pawl_error *err);

#endif
