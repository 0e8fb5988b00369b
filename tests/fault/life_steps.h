/* tests/fault/life_steps.h - the calls of one life, in order. */
#ifndef PAWL_TEST_LIFE_STEPS_H
#define PAWL_TEST_LIFE_STEPS_H

#include "failing.h"
#include "kit.h"

#define LIFE_MESSAGES 9

typedef struct life {
    fixture *f;
    pawl_store *store;
    pawl_tx *tx;
    pawl_arrival *arrival;
    bool faulted;                  /* in the running step */
    pawl_held held[LIFE_MESSAGES]; /* by number of the message; [0] is not used */
    int64_t dead_fence;            /* of the claimed dead letters */
} life;

typedef struct life_step {
    const char *name;
    void (*prepare)(life *l);                       /* never fails, may be made twice */
    pawl_status (*call)(life *l, pawl_error *err);  /* the call under test */
    pawl_status (*settle)(life *l, pawl_status st); /* afterwards; what it amounts to */
    const char *effect; /* SQL: 0 when nothing of it is there; NULL: it only reads */
    int64_t whole;      /* and this when all of it is */
} life_step;

/* The fixture's, without its log, which must not run out of memory. */
pawl_store_options life_options(const fixture *f);

/* life_effect.c: the calls around the queue. */
pawl_status life_effect_send(life *l, pawl_error *err);
pawl_status life_effect_claim(life *l, pawl_error *err);
pawl_status life_effect_once(life *l, pawl_error *err);
pawl_status life_progress(life *l, pawl_error *err);
pawl_status life_pause(life *l, pawl_error *err);
pawl_status life_resume(life *l, pawl_error *err);
pawl_status life_dead_letters(life *l, pawl_error *err);
pawl_status life_dead_claim(life *l, pawl_error *err);
void life_dead_learn(life *l);
pawl_status life_dead_done(life *l, pawl_error *err);
pawl_status life_dead_retry(life *l, pawl_error *err);

/* life_lease.c: the calls about leases. */
int64_t life_lease_fence(life *l);
pawl_status life_lease_take(life *l, pawl_error *err);
pawl_status life_lease_renew(life *l, pawl_error *err);
pawl_status life_lease_guard(life *l, pawl_error *err);
pawl_status life_lease_release(life *l, pawl_error *err);
pawl_status life_lease_run(life *l, pawl_error *err);

/* The store behind the fault; and the application's row `n` in a transaction of pawl's. */
pawl_status life_open(life *l, pawl_error *err);
pawl_status life_write_row(life *l, pawl_tx *tx, int n, pawl_error *err);

#endif
