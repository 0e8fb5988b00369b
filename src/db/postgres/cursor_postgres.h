/*
 * src/db/postgres/cursor_postgres.h - the claim cursor: where the next scan of the queue may start.
 * docs/internals/claim-cursor.md.
 *
 * Pure bookkeeping: no SQL, no clock of its own. The caller copies the positions before a scan
 * (pawli_cursor_begin), collects the database's response in the same pawli_cursor_scan, and passes
 * it back when the scan's transaction is known to be committed (pawli_cursor_learn).
 */
#ifndef PAWLI_CURSOR_POSTGRES_H
#define PAWLI_CURSOR_POSTGRES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/clock.h>

#define PAWLI_CURSOR_EPOCHS 64
#define PAWLI_CURSOR_RUNNING 64

typedef struct pawli_cursor_limits {
    int64_t long_us;     /* a transaction older than this is awaited (docs, rule 6) */
    int64_t sweep_us;    /* minimum interval between scans of a lane from its beginning (sweeps) */
    int64_t sweep_share; /* a sweep may take at most 1/sweep_share of the time */
    int64_t again_us; /* how long other scans leave it to one to go back after such a transaction */
    int64_t again_share; /* scans that go back may take at most 1/again_share of the time */
    int64_t forget_us;   /* a lane that no scan reached for this long is dropped */
} pawli_cursor_limits;
extern const pawli_cursor_limits pawli_cursor_usual;

/*
 * A transaction that reads the clock before `time` and then writes a row has a lower transaction
 * id.
 */
typedef struct pawli_epoch {
    pawl_wall time;
    int64_t xid;
} pawli_epoch;

typedef struct pawli_cursor_lane {
    int64_t id;
    pawl_wall settled;     /* no message becomes ready before this any more */
    pawl_wall start;       /* the same, except through the transactions that are awaited */
    bool again;            /* one of those has ended: scan from `settled` */
    pawl_mono again_after; /* but not sooner */
    pawl_mono sweep_after;
    uint64_t back_by;   /* the scan that goes back in it for all, not finished yet; 0: none */
    pawl_mono found_at; /* when a scan last reached it */
} pawli_cursor_lane;

typedef struct pawli_cursor {
    pawli_cursor_limits limits;
    atomic_uint since_note; /* messages claimed since a claim last had to report for the cursor */
    pthread_mutex_t lock;   /* guards the rest */
    uint64_t scans;         /* counts scans */
    uint64_t version;       /* counts events that moved positions back */
    uint64_t endings;       /* counts awaited transactions that were seen to have ended */
    uint64_t connections;   /* as passed to the last scan that began */
    pawl_wall seen;         /* the highest clock value seen */
    pawli_epoch epochs[PAWLI_CURSOR_EPOCHS]; /* oldest first */
    size_t epoch_count;
    int64_t awaited[PAWLI_CURSOR_RUNNING];
    size_t awaited_count;
    pawli_cursor_lane *lanes; /* sorted by id */
    size_t lane_count;
    size_t lane_capacity;
    pawl_mono forget_after; /* when unused lanes are next dropped */
} pawli_cursor;

typedef enum pawli_cursor_scan_kind {
    PAWLI_SCAN_SETTLED, /* no row can be before it */
    PAWLI_SCAN_OPEN,    /* only rows of awaited transactions can */
    PAWLI_SCAN_AGAIN,   /* from the settled position, because an awaited transaction has ended */
    PAWLI_SCAN_SWEEP    /* from the beginning */
} pawli_cursor_scan_kind;

/* A lane in which a scan starts at a position; all others are scanned from their beginning. */
typedef struct pawli_cursor_scan_start {
    int64_t lane;
    pawl_wall since;
    pawli_cursor_scan_kind kind;
} pawli_cursor_scan_start;

typedef struct pawli_cursor_scan_found {
    int64_t lane;
    pawl_wall oldest; /* the oldest row that is ready and not claimed; PAWL_TIME_UNSET: none */
} pawli_cursor_scan_found;

typedef struct pawli_cursor_scan {
    /* set when it begins */
    pawli_cursor_scan_start *starts; /* sorted by lane */
    size_t start_count;
    uint64_t number; /* number of the scan */
    bool goes_back;  /* before the position of some lane */
    uint64_t version;
    uint64_t endings;
    uint64_t connections;
    pawl_wall seen;
    pawl_mono began;
    /* the database's response */
    pawl_wall clock;   /* set even if nothing else is; PAWL_TIME_UNSET: not returned */
    pawli_epoch epoch; /* the clock, and then the scan's own transaction id; xid 0: not returned */
    int64_t next_xid;  /* this and all higher ones count as running: nothing is known of them */
    int64_t running[PAWLI_CURSOR_RUNNING]; /* all lower ones that were running, ascending */
    size_t running_count;
    pawli_cursor_scan_found *found; /* the lanes that were scanned to the end of the snapshot */
    size_t found_count;
    size_t found_capacity;
    bool failed; /* out of memory: the result is ignored */
} pawli_cursor_scan;

void pawli_cursor_init(pawli_cursor *cursor, const pawli_cursor_limits *limits);
void pawli_cursor_done(pawli_cursor *cursor);

/*
 * Any thread. `scan` is zeroed memory or was used before. `connections` changes when the
 * database may be a different one; that drops all positions. `at_any_cost`: scan after ended
 * long transactions now, even if that was just done. If memory runs out, the scan starts at the
 * beginning.
 */
void pawli_cursor_begin(pawli_cursor *cursor, uint64_t connections, pawl_mono now, bool at_any_cost,
                        pawli_cursor_scan *scan);

/*
 * Any thread, after COMMIT. True if positions that the scan started with turned out to be wrong: a
 * scan that found nothing should then be repeated at once, with at_any_cost.
 */
bool pawli_cursor_learn(pawli_cursor *cursor, const pawli_cursor_scan *scan, uint64_t connections,
                        pawl_mono now);

/* Any thread: drops all positions, and ignores the results of scans in progress. */
void pawli_cursor_drop(pawli_cursor *cursor);

/*
 * Any thread: an op other than a scan read the clock, after `seen` was read. Drops all positions if
 * the clock is below what was seen, because rows may have been written with any time since.
 */
pawl_wall pawli_cursor_seen(pawli_cursor *cursor);
void pawli_cursor_clock(pawli_cursor *cursor, pawl_wall seen, pawl_wall clock);

/* ---- the database's response, item by item; one thread ---- */

/* Call it before every attempt of the scan. */
void pawli_cursor_scan_restart(pawli_cursor_scan *scan);
void pawli_cursor_scan_clock(pawli_cursor_scan *scan, pawl_wall time);
void pawli_cursor_scan_epoch(pawli_cursor_scan *scan, pawl_wall time, int64_t xid);
void pawli_cursor_scan_next(pawli_cursor_scan *scan, int64_t next_xid);
void pawli_cursor_scan_running(pawli_cursor_scan *scan, int64_t xid); /* after next, ascending */
void pawli_cursor_scan_lane(pawli_cursor_scan *scan, int64_t lane, pawl_wall oldest);
void pawli_cursor_scan_done(pawli_cursor_scan *scan);

#endif
