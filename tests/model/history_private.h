/* tests/model/history_private.h - the actors of a history. */
#ifndef PAWL_TEST_MODEL_HISTORY_PRIVATE_H
#define PAWL_TEST_MODEL_HISTORY_PRIVATE_H

#include "postgres/cursor_postgres.h"
#include "history.h"
#include "simulated_server.h"

#define LANES 3
#define STORES 2
#define THREADS 5 /* workers; the last is foreign */
#define SENDERS 4
#define WRITERS 2
#define CROWD 90 /* foreign writers of a crowded world: more than PAWLI_CURSOR_RUNNING */
#define LIMIT_MAX 6
#define HELD_MAX 64
#define LEASE_US 20000
#define SWEEP_US 50000
#define AGAIN_US 2000
#define FORGET_US 20000 /* short, so that it happens in a history */
#define CALLS_MAX 4096

/* Every actor does one step of its work at a time, and is then left alone for a while. */
typedef struct actor {
    int step; /* 0: idle */
    int64_t busy_until;
    int64_t xid; /* 0: no transaction */
    int64_t time;
    int count; /* what is still to do */
    bool late; /* takes longer than is waited for */
} actor;

typedef struct worker {
    actor actor;
    int store;
    bool foreign; /* claims without a cursor, and always rolls back */
    pawli_cursor_scan look;
    bool second;      /* the look is made again */
    int64_t started;  /* the call, not the second look */
    int64_t now;      /* the clock that decides what is due */
    int64_t next_xid; /* of a snapshot when the look began */
    int order[LANES];
    int reached; /* lanes of `order` */
    int limit;
    int taken[LIMIT_MAX];
    int taken_count;
    const row_version *ready[SERVER_ROWS]; /* as the last snapshot showed them */
    int ready_count;
    int passed[SERVER_ROWS]; /* rows that this look passed over */
    int passed_count;
    int held[HELD_MAX]; /* rows that earlier claims took */
    int held_count;
} worker;

/* A claim call that has ended. */
typedef struct call {
    int64_t end;
    int64_t spent;
} call;

typedef struct history {
    uint64_t random;
    model_rule rule;
    model_world world;
    server server;
    pawli_cursor cursors[STORES];
    uint64_t connections[STORES];
    int64_t last_taken[STORES][LANES]; /* for rules that remember something of their own */
    int64_t last_claim[STORES];
    int64_t longest_call;
    call calls[CALLS_MAX];
    int call_count;
    int64_t latest_stamp;
    int64_t passed_at[STORES][SERVER_ROWS]; /* first passed over; 0: it was not */
    int64_t passed_stamp[STORES][SERVER_ROWS];
    worker workers[THREADS];
    actor senders[SENDERS];
    actor writers[WRITERS];
    actor crowd[CROWD];
    actor reaper;
    bool draining; /* nobody fails any more */
    outcome outcome;
} history;

/* A number from 0 to below - 1. */
int64_t history_random(history *h, int64_t below);
bool history_chance(history *h, int one_in);

/* One step of the worker. */
void worker_step(history *h, worker *w);
/* Its connection is gone, and with it what it was doing. */
void worker_reset(worker *w);

#endif
