/* tests/sequences/sequence_step.h - one operation of a sequence, complete in itself: any may be
 * left out. */
#ifndef PAWL_SEQUENCES_STEP_H
#define PAWL_SEQUENCES_STEP_H

#include <stdio.h>

#include "queue_model.h"

#define STEP_SENDINGS 5
#define STEP_PICKS 6
#define SEQUENCE_STEPS 120

typedef enum step_kind {
    STEP_SEND,
    STEP_TX_SEND, /* begins the application's transaction if none is open */
    STEP_TX_END,
    STEP_CLAIM,
    STEP_ACK_AND_CLAIM,
    STEP_ACK,
    STEP_ABANDON,
    STEP_FAIL,
    STEP_RENEW,
    STEP_DEFER,
    STEP_RELEASE,
    STEP_FORGET, /* the owner loses its memory */
    STEP_OWNED,  /* and lists its messages */
    STEP_REAP,
    STEP_EXPIRE,
    STEP_RETAIN,
    STEP_FOLD,
    STEP_CANCEL,
    STEP_REDRIVE,
    STEP_PURGE,
    STEP_CANCEL_MATCHING,
    STEP_REDRIVE_MATCHING,
    STEP_PURGE_MATCHING,
    STEP_GET,
    STEP_FIND,
    STEP_LIST,
    STEP_CLOCK,
    STEP_SWEEP,  /* as if so much time had passed that the stores sweep */
    STEP_REOPEN, /* one of the two processes restarts */
    STEP_CHECK,  /* everything in the store against everything in the model */
    STEP_KINDS
} step_kind;

/* The (id, fence) with which a message is acknowledged. */
typedef enum pick_kind {
    PICK_MINE,    /* the newest that the owner knows */
    PICK_STALE,   /* one before: the owner's own if it had one, else another's */
    PICK_FOREIGN, /* the newest of another owner */
    PICK_MADE_UP, /* a fence that was not given out yet */
    PICK_ZERO,    /* fence 0, which free messages have */
    PICK_KINDS
} pick_kind;

typedef struct pick {
    int number;
    pick_kind kind;
} pick;

/* The part of the result that the caller gets. */
typedef enum lost_kind {
    LOST_NOTHING,
    LOST_ANSWER, /* it was done, the caller does not learn of it */
    LOST_REQUEST /* it was never done, the caller cannot distinguish it from the former */
} lost_kind;

typedef struct step {
    step_kind kind;
    int owner;
    int store;
    int handle;
    bool commit;
    lost_kind lost;
    int fault; /* > 0: the call of the database's library with this number fails */
    sending sendings[STEP_SENDINGS];
    size_t sending_count;
    pick picks[STEP_PICKS]; /* of ids, only the numbers are used */
    size_t pick_count;
    unsigned topics;
    bool remote; /* a claim for the destination */
    int limit;
    int64_t lease_ms;
    int64_t delay_ms;
    const char *error;
    int64_t keep_ms;
    int64_t clock_us; /* how far the clock moves */
    unsigned states;
    int topic;       /* NO_OWNER: any */
    int correlation; /* 0: any */
    int before;      /* only older than this message; NO_OWNER: any */
} step;

typedef struct sequence {
    uint64_t seed;
    int64_t start_us;
    bool steps_back; /* the clock may */
    bool long_txs;   /* transactions stay open over other operations (PostgreSQL) */
    bool faults;     /* calls of the database's library may fail */
    step steps[SEQUENCE_STEPS];
    size_t count;
} sequence;

/* One readable line, without its end. */
void step_describe(const step *s, FILE *out);

#endif
