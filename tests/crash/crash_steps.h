/* tests/crash/crash_steps.h - a list of steps, from making a store to its end, and what each should
 * do. */
#ifndef PAWL_CRASH_STEPS_H
#define PAWL_CRASH_STEPS_H

#include "database_model.h"

typedef enum verb {
    DEPLOY,       /* open the store and make its tables */
    MAKE_ORDERS,  /* the application makes a table of its own */
    SEND,         /* alone */
    SEND_BATCH,   /* in one call */
    SEND_TX,      /* in the application's transaction, with a row of its own for each */
    SEND_TX_UNDO, /* the same, rolled back */
    SEND_CROWD,   /* every one a call of its own, from several threads at once */
    SEND_AGAIN,   /* ids and contents that are there */
    SEND_OTHER,   /* ids that are there, other contents */
    SCHEDULE,     /* in one call, for later */
    UNSCHEDULE,
    CLAIM,
    ACK_AND_CLAIM, /* ack as many before `first`, claim these */
    RENEW,
    ACK,
    ACK_LATE, /* with the fence of the claim before */
    ABANDON,
    FAIL,
    RELEASE,
    REAP,
    EXPIRE,
    CANCEL,
    REDRIVE,
    RETAIN, /* everything that is done or cancelled */
    PURGE,
    CHECKPOINT_PASSIVE,
    CHECKPOINT_RESTART,
    CHECKPOINT_TRUNCATE,
    LEASE_TAKE, /* `first` is which lease, here and in the next four */
    LEASE_RENEW,
    LEASE_RELEASE,
    LEASE_LATE,  /* a release with a token that is not the owner's */
    LEASE_CLEAN, /* forget those that have ended */
    READ_BACK,   /* read them back */
    REOPEN,      /* close the store and the application's connection, open both again */
    WAIT         /* time passes */
} verb;

/* `first` and `count` say which messages; unused fields are 0. */
typedef struct step {
    verb verb;
    int first;
    int count;
    int owner;
    int64_t ms; /* lease, delay or time that passes */
} step;

#define SCENARIO_STEPS_MAX 80
#define SCENARIO_CALLS_MAX 12 /* in one step */

extern const step scenario[];
extern const size_t scenario_count;

const char *verb_name(verb v);
/* "step 12, claim 4-7": until the next call. */
const char *step_name(size_t index);
/* More than one only for a crowd. Call `call` of a crowd is about message first + call. */
int step_calls(const step *s);
/* The time at which step `index` is made. */
int64_t step_now_ms(size_t index);

/* Applies one call of the step to the model; a step is all its calls. */
void model_apply_call(model *m, const step *s, int call, int64_t now_ms);
void model_apply(model *m, const step *s, int64_t now_ms);
/* How many messages the step changes, given what is there. */
size_t model_changes(const model *m, const step *s);

/* The model before step `index`; scenario_count gives the end. Made when first asked for. */
const model *scenario_model(size_t index);

#endif
