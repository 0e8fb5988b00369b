/*
 * src/core/cursor.h - where the next look at the queue may start. docs/internals/claim-cursor.md.
 *
 * Pure bookkeeping: no SQL, no clock of its own. The caller takes a copy of the positions before a
 * look (pawli_cursor_begin), gathers what the database answered in the same pawli_look, and hands
 * it in when the look's transaction is known to be committed (pawli_cursor_learn).
 */
#ifndef PAWLI_CURSOR_H
#define PAWLI_CURSOR_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/clock.h>

#define PAWLI_CURSOR_EPOCHS 64
#define PAWLI_CURSOR_RUNNING 64

typedef struct pawli_cursor_limits {
    int64_t long_us;     /* a transaction older than this is not waited for, but looked after */
    int64_t sweep_us;    /* how often a lane is looked at from its beginning, at most */
    int64_t sweep_share; /* a sweep may cost one part in so many of the time */
    int64_t again_us;    /* how long others leave it to one to look after such a transaction */
    int64_t again_share; /* the same for looking after transactions that took long */
    int64_t forget_us;   /* a lane that no look reached for this long is forgotten */
} pawli_cursor_limits;
extern const pawli_cursor_limits pawli_cursor_usual;

/* Whoever reads the clock before `time` and then stamps a row has a lower transaction id. */
typedef struct pawli_epoch {
    pawl_wall time;
    int64_t xid;
} pawli_epoch;

typedef struct pawli_cursor_lane {
    int64_t id;
    pawl_wall settled;     /* nothing becomes ready before this any more */
    pawl_wall start;       /* nothing either, except through the transactions that are awaited */
    bool again;            /* one of those has ended: look from `settled` */
    pawl_mono again_after; /* but not sooner */
    pawl_mono sweep_after;
    uint64_t back_by;   /* the look that goes back in it for all, and has not answered; 0: none */
    pawl_mono found_at; /* when a look last reached it */
} pawli_cursor_lane;

typedef struct pawli_cursor {
    pawli_cursor_limits limits;
    atomic_uint unnoted;  /* messages taken since a claim last had to answer for the cursor */
    pthread_mutex_t lock; /* guards the rest */
    uint64_t looks;       /* counts them */
    uint64_t version;     /* counts what took positions back */
    uint64_t endings;     /* counts awaited transactions that were seen to have ended */
    uint64_t connections; /* as told by the last look that began */
    pawl_wall seen;       /* the highest clock */
    pawli_epoch epochs[PAWLI_CURSOR_EPOCHS]; /* oldest first */
    size_t epoch_count;
    int64_t awaited[PAWLI_CURSOR_RUNNING];
    size_t awaited_count;
    pawli_cursor_lane *lanes; /* by id */
    size_t lane_count;
    size_t lane_capacity;
    pawl_mono forget_after; /* when lanes that are gone are next looked for */
} pawli_cursor;

typedef enum pawli_look_kind {
    PAWLI_LOOK_SETTLED, /* nothing can be before it */
    PAWLI_LOOK_OPEN,    /* what awaited transactions bring can */
    PAWLI_LOOK_AGAIN,   /* from the settled position, because one of those has ended */
    PAWLI_LOOK_SWEEP    /* from the beginning */
} pawli_look_kind;

/* A lane that a look starts inside of; all others are looked at from their beginning. */
typedef struct pawli_look_start {
    int64_t lane;
    pawl_wall since;
    pawli_look_kind kind;
} pawli_look_start;

typedef struct pawli_look_found {
    int64_t lane;
    pawl_wall oldest; /* the oldest row that is ready and not taken; PAWL_NEVER: none */
} pawli_look_found;

typedef struct pawli_look {
    /* what it begins with */
    pawli_look_start *starts; /* by lane */
    size_t start_count;
    uint64_t number; /* of the cursor's looks */
    bool goes_back;  /* behind the position of some lane */
    uint64_t version;
    uint64_t endings;
    uint64_t connections;
    pawl_wall seen;
    pawl_mono began;
    /* what the database answered */
    pawl_wall clock;   /* comes also where nothing else is answered; PAWL_NEVER: it did not */
    pawli_epoch epoch; /* the clock, and then the look's own transaction id; xid 0: no answer */
    int64_t next_xid;  /* this and all higher ones count as running: nothing is known of them */
    int64_t running[PAWLI_CURSOR_RUNNING]; /* all lower ones that were running, ascending */
    size_t running_count;
    pawli_look_found *found; /* the lanes that were looked at to the end of the snapshot */
    size_t found_count;
    size_t found_capacity;
    bool spoilt; /* out of memory: nothing is learned from it */
} pawli_look;

void pawli_cursor_init(pawli_cursor *cursor, const pawli_cursor_limits *limits);
void pawli_cursor_done(pawli_cursor *cursor);

/*
 * Any thread. `look` is zeroed memory or was used before. `connections` changes when the database
 * may be another one; that drops all positions. `at_any_cost`: look after long transactions that
 * have ended now, also if that was done just before. Without memory the look starts at the
 * beginning.
 */
void pawli_cursor_begin(pawli_cursor *cursor, uint64_t connections, pawl_mono now, bool at_any_cost,
                        pawli_look *look);

/*
 * Any thread, after COMMIT. True when positions that the look started with turned out not to hold:
 * a look that found nothing should be made again at once, at any cost.
 */
bool pawli_cursor_learn(pawli_cursor *cursor, const pawli_look *look, uint64_t connections,
                        pawl_mono now);

/* Any thread: forget everything, also what looks under way will answer. */
void pawli_cursor_drop(pawli_cursor *cursor);

/*
 * Any thread: another op than a look read the clock, after `seen` was asked for. Forgets everything
 * if that is below what was seen: rows may have been stamped with any time since.
 */
pawl_wall pawli_cursor_seen(pawli_cursor *cursor);
void pawli_cursor_clock(pawli_cursor *cursor, pawl_wall seen, pawl_wall clock);

/* ---- the answer, item by item; one thread ---- */

/* Before every attempt of the look. */
void pawli_look_restart(pawli_look *look);
void pawli_look_clock(pawli_look *look, pawl_wall time);
void pawli_look_epoch(pawli_look *look, pawl_wall time, int64_t xid);
void pawli_look_next(pawli_look *look, int64_t next_xid);
void pawli_look_running(pawli_look *look, int64_t xid); /* after next, ascending */
void pawli_look_lane(pawli_look *look, int64_t lane, pawl_wall oldest);
void pawli_look_done(pawli_look *look);

#endif
