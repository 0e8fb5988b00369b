/*
 * tests/scenario/scenario.h - a fixed list of calls on a few messages, a lease and jobs, which the
 * suites interrupt at one point after the other.
 *
 * After a call that was interrupted the tables are read from outside: what returned PAWL_OK is
 * there, what failed for certain is not, and PAWL_E_IN_DOUBT may be either, but never half. Then
 * the call is made again, or resolved, and the list continues to the same end as ever.
 */
#ifndef PAWL_SCENARIO_H
#define PAWL_SCENARIO_H

#include "queue_fixture.h"
#include "operation.h"

#define SCENARIO_MESSAGES 10 /* [0] is not used; message n is the one whose correlation id is n */
#define SCENARIO_OWNER queue_owner(1)

struct pg_conn;

typedef struct scenario {
    fixture *f;                 /* reads the tables from outside */
    const char *url;            /* the store under test is opened with these */
    pawl_store_options options; /* ... */
    pawl_store *store;
    pawl_receipt owned[SCENARIO_MESSAGES]; /* the receipts of the owner */
    int64_t lease_fence;                   /* the same of its lease */
    pawl_receipt run;                      /* the same of a job's run */
    int64_t dead_fence;                    /* the same of the dead letters */
    pawl_inbox_task *arrival;              /* a message that is being processed; or NULL */
    pawl_tx *tx;
    bool faulted;           /* in the step that runs */
    const char *client_url; /* the application's own connection, and what it is opened with */
    struct pg_conn *client; /* ... */
} scenario;

typedef enum scenario_kind {
    SCENARIO_READS,   /* never in doubt */
    SCENARIO_WRITES,  /* in doubt when it was asked and the result is lost */
    SCENARIO_RESOLVES /* the same, but the call itself asks again */
} scenario_kind;

/* *ret_changed is how many rows it says it has changed. */
typedef pawl_status (*scenario_call)(scenario *s, size_t *ret_changed, pawl_error *err);

typedef struct scenario_step {
    const char *name;
    scenario_kind kind;
    void (*prepare)(scenario *s); /* past the fault; may be made twice */
    scenario_call call;           /* the call under test; NULL: `operation` */
    const char *effect;           /* SQL: 0 when nothing of it is there; NULL: it only reads */
    int64_t whole;                /* and this when all of it is */
    struct {                      /* on the messages from `first` on */
        operation_kind kind;
        int first;
        size_t count;
        int64_t ms;
    } operation;
    pawl_status (*finish)(scenario *s, pawl_status st); /* afterwards; returns the final status */
    scenario_call resolve; /* after PAWL_E_IN_DOUBT, by public calls only; NULL: making it again */
    bool again;            /* a repetition changes as many, not none */
} scenario_step;

/* The steps end with one without a name. */
typedef struct scenario_list {
    const scenario_step *steps;
    const char *end; /* states and retries of the messages, by number */
} scenario_list;

/* Every table is as before the first step; the fencing counter and the lanes stay. */
void scenario_clean(fixture *f);
/* The store, and whatever a step has left open. */
void scenario_close(scenario *s);

pawl_status scenario_perform(scenario *s, const scenario_step *step, size_t *ret_changed,
                             pawl_error *err);

/* ---- checks: NULL, or what is wrong ---- */

/* The rules of the tables, and how much of the step is there: all or nothing. */
const char *scenario_check_tables(scenario *s, const scenario_step *step, int64_t *ret_there);
/* Whether the result agrees with that. */
const char *scenario_judge(const scenario_step *step, pawl_status st, const pawl_error *err,
                           int64_t there);
const char *scenario_check_end(scenario *s, const char *expected);

/* ---- calls that several lists have ---- */

pawl_message_spec scenario_message(int number);
pawl_status scenario_open(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status scenario_send(scenario *s, const pawl_message_spec *messages, size_t count,
                          size_t *ret_changed, pawl_error *err);
pawl_status scenario_send_batch(scenario *s, size_t *ret_changed, pawl_error *err);
/* Four for a minute, and what is left for a second. */
pawl_status scenario_claim_four(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status scenario_claim_rest(scenario *s, size_t *ret_changed, pawl_error *err);
/* Stores the receipts of claimed messages, by number. */
void scenario_remember(scenario *s, const pawl_messages *list);
/* Lists the messages of the owner, and stores their receipts. */
pawl_status scenario_read_owned(scenario *s, size_t *ret_owned, pawl_error *err);

pawl_status scenario_lease_take(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status scenario_lease_renew(scenario *s, size_t *ret_changed, pawl_error *err);
pawl_status scenario_lease_guard(scenario *s, pawl_tx *tx, pawl_error *err);
pawl_status scenario_lease_release(scenario *s, size_t *ret_changed, pawl_error *err);

/* Preparations. Work ids and fences read from outside: a claim may have been in doubt. */
void scenario_learn_message(scenario *s, int number);
void scenario_learn_messages(scenario *s);
void scenario_learn_lease(scenario *s);
/* Time passes: leases of a second end. */
void scenario_after_the_lease(scenario *s);
/* An attempt of a delivery that was cut off may be in the way until its lease has ended. */
void scenario_end_leases(scenario *s);

#endif
