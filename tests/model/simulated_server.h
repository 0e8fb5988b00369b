/*
 * tests/model/simulated_server.h - a PostgreSQL small enough to be driven one step at a time.
 *
 * Transactions with ids, snapshots, row versions that are visible by commit, row locks with SKIP
 * LOCKED, and a clock that can step. Sizes are fixed: a history is short.
 */
#ifndef PAWL_TEST_MODEL_SERVER_H
#define PAWL_TEST_MODEL_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVER_XIDS 8192
#define SERVER_VERSIONS 4096
#define SERVER_ROWS 1024
#define SERVER_RUNNING 256

typedef struct row_version {
    int row;
    int lane;
    int previous; /* version of the same row; -1: none */
    int64_t run_at;
    int64_t lease_until; /* 0: nobody holds it */
    int64_t made_by;
    int64_t ended_by;  /* replaced or deleted by; 0: nobody */
    int64_t locked_by; /* 0: nobody */
} row_version;

typedef enum xid_state { XID_UNUSED, XID_RUNNING, XID_COMMITTED, XID_ABORTED } xid_state;

typedef struct server {
    int64_t elapsed; /* real time, microseconds */
    int64_t step;    /* what the clock is ahead of it */
    int64_t next_xid;
    int64_t latest_completed;
    uint8_t xids[SERVER_XIDS];       /* xid_state */
    int64_t running[SERVER_RUNNING]; /* ascending */
    size_t running_count;
    row_version versions[SERVER_VERSIONS];
    size_t version_count;
    int latest[SERVER_ROWS]; /* each row's newest version that was not rolled back; -1: none */
    int row_count;
} server;

/* What GetSnapshotData() gives: ids from `next` on, and those listed, count as running. */
typedef struct snapshot {
    int64_t next;
    int64_t running[SERVER_RUNNING];
    size_t running_count;
} snapshot;

void server_init(server *s, int64_t clock);
int64_t server_clock(const server *s);
bool server_is_full(const server *s);

int64_t server_begin(server *s); /* a transaction that writes: its id */
void server_end(server *s, int64_t xid, bool commit);
snapshot server_snapshot(const server *s, int64_t own_xid);

void server_insert(server *s, int64_t xid, int lane, int64_t run_at);
/* The caller holds the row's lock, or it is free. `gone`: delete instead of update. */
void server_change(server *s, int64_t xid, int row, int64_t run_at, int64_t lease_until, bool gone);
/* Whether another running transaction has the row. */
bool server_locked(const server *s, int row, int64_t own_xid);
void server_lock(server *s, int row, int64_t xid);

/* The version of the row that the snapshot shows to `own_xid`; NULL: none. */
const row_version *server_visible(const server *s, const snapshot *at, int64_t own_xid, int row);
/* The newest version, whoever made it; NULL: deleted, or never there. */
const row_version *server_newest(const server *s, int row);

/*
 * The server is replaced by one that has not heard of any transaction from `first_lost` on; what
 * was running is rolled back.
 */
void server_fail_over(server *s, int64_t first_lost);

#endif
