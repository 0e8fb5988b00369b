/*
 * src/db/postgres/cursor_postgres.c - the claim cursor: positions in the queue from which the next
 * claim may scan.
 *
 * docs/internals/claim-cursor.md explains every step; tests/model/ checks them against thousands
 * of random histories.
 */
#include "cursor_postgres.h"

#include <stdlib.h>
#include <string.h>

const pawli_cursor_limits pawli_cursor_usual = {
    .long_us = INT64_C(100000),
    .sweep_us = INT64_C(30000000),
    .sweep_share = 50,
    .again_us = INT64_C(1000000),
    .again_share = 20,
    .forget_us = INT64_C(300000000),
};

void pawli_cursor_init(pawli_cursor *cursor, const pawli_cursor_limits *limits)
{
    *cursor = (pawli_cursor){.limits = *limits};
    pthread_mutex_init(&cursor->lock, NULL);
}

void pawli_cursor_done(pawli_cursor *cursor)
{
    pthread_mutex_destroy(&cursor->lock);
    free(cursor->lanes);
}

static pawl_wall cursor_earlier(pawl_wall a, pawl_wall b)
{
    return a.us < b.us ? a : b;
}

static pawl_wall cursor_later(pawl_wall a, pawl_wall b)
{
    return a.us > b.us ? a : b;
}

static void cursor_drop(pawli_cursor *cursor)
{
    cursor->version++;
    cursor->seen = PAWL_TIME_UNSET;
    cursor->epoch_count = 0;
    cursor->awaited_count = 0;
    cursor->lane_count = 0;
}

void pawli_cursor_drop(pawli_cursor *cursor)
{
    pthread_mutex_lock(&cursor->lock);
    cursor_drop(cursor);
    pthread_mutex_unlock(&cursor->lock);
}

pawl_wall pawli_cursor_seen(pawli_cursor *cursor)
{
    pthread_mutex_lock(&cursor->lock);
    pawl_wall seen = cursor->seen;
    pthread_mutex_unlock(&cursor->lock);
    return seen;
}

void pawli_cursor_clock(pawli_cursor *cursor, pawl_wall seen, pawl_wall clock)
{
    if (clock.us < seen.us)
        pawli_cursor_drop(cursor);
}

/* ---- starting a scan ---- */

/*
 * A scan that goes further back can be slow, so only one worker runs it; the others continue
 * from their positions until it has finished or a time limit has passed.
 */
static pawli_cursor_scan_start cursor_start_of(const pawli_cursor *cursor, pawli_cursor_lane *lane,
                                               pawl_mono now, bool at_any_cost)
{
    if (lane->start.us == PAWL_TIME_UNSET.us && !lane->again) /* starts at the beginning anyway */
        return (pawli_cursor_scan_start){lane->id, PAWL_TIME_UNSET, PAWLI_SCAN_SETTLED};
    if (now.us >= lane->sweep_after.us) {
        lane->sweep_after = (pawl_mono){now.us + cursor->limits.sweep_us};
        lane->back_by = cursor->scans;
        return (pawli_cursor_scan_start){lane->id, PAWL_TIME_UNSET, PAWLI_SCAN_SWEEP};
    }
    if (lane->again && (at_any_cost || now.us >= lane->again_after.us)) {
        lane->again_after = (pawl_mono){now.us + cursor->limits.again_us};
        lane->back_by = cursor->scans;
        return (pawli_cursor_scan_start){lane->id, lane->settled, PAWLI_SCAN_AGAIN};
    }
    if (lane->start.us == lane->settled.us)
        return (pawli_cursor_scan_start){lane->id, lane->start, PAWLI_SCAN_SETTLED};
    return (pawli_cursor_scan_start){lane->id, lane->start, PAWLI_SCAN_OPEN};
}

static void copy_starts(pawli_cursor *cursor, pawl_mono now, bool at_any_cost,
                        pawli_cursor_scan *scan)
{
    if (cursor->lane_count == 0)
        return;
    scan->starts = malloc(cursor->lane_count * sizeof *scan->starts);
    for (size_t i = 0; scan->starts && i < cursor->lane_count; i++) {
        pawli_cursor_scan_start start =
            cursor_start_of(cursor, &cursor->lanes[i], now, at_any_cost);
        scan->goes_back =
            scan->goes_back || start.kind == PAWLI_SCAN_AGAIN || start.kind == PAWLI_SCAN_SWEEP;
        if (start.since.us != PAWL_TIME_UNSET.us)
            scan->starts[scan->start_count++] = start;
    }
}

void pawli_cursor_begin(pawli_cursor *cursor, uint64_t connections, pawl_mono now, bool at_any_cost,
                        pawli_cursor_scan *scan)
{
    pawli_cursor_scan_done(scan);
    pthread_mutex_lock(&cursor->lock);
    if (connections != cursor->connections)
        cursor_drop(cursor);
    cursor->connections = connections;
    scan->number = ++cursor->scans;
    scan->version = cursor->version;
    scan->endings = cursor->endings;
    scan->connections = connections;
    scan->seen = cursor->seen;
    scan->began = now;
    copy_starts(cursor, now, at_any_cost, scan);
    pthread_mutex_unlock(&cursor->lock);
}

/* ---- epochs ---- */

/* When the list is full, every second epoch is dropped. Older epochs end up further apart, so
 * the list covers any age. */
static void thin_out(pawli_cursor *cursor)
{
    size_t kept = 0;

    for (size_t i = 0; i < cursor->epoch_count; i += 2)
        cursor->epochs[kept++] = cursor->epochs[i];
    cursor->epoch_count = kept;
}

static void remember_epoch(pawli_cursor *cursor, pawli_epoch epoch)
{
    if (cursor->epoch_count == PAWLI_CURSOR_EPOCHS)
        thin_out(cursor);
    size_t at = cursor->epoch_count++;
    for (; at > 0 && cursor->epochs[at - 1].time.us > epoch.time.us; at--)
        cursor->epochs[at] = cursor->epochs[at - 1];
    cursor->epochs[at] = epoch;
}

/* The latest epoch all of whose predecessors are below `first_xid`; PAWL_TIME_UNSET if none is
 * known. */
static pawl_wall epoch_up_to(const pawli_cursor *cursor, int64_t first_xid)
{
    for (size_t i = cursor->epoch_count; i > 0; i--)
        if (cursor->epochs[i - 1].xid <= first_xid)
            return cursor->epochs[i - 1].time;
    return PAWL_TIME_UNSET;
}

static void forget_epochs_before(pawli_cursor *cursor, pawl_wall time)
{
    size_t old = 0;

    while (old < cursor->epoch_count && cursor->epochs[old].time.us < time.us)
        old++;
    cursor->epoch_count -= old;
    memmove(cursor->epochs, cursor->epochs + old, cursor->epoch_count * sizeof *cursor->epochs);
}

/* ---- long-running transactions ---- */

static bool cursor_contains(const int64_t *xids, size_t count, int64_t xid)
{
    for (size_t i = 0; i < count; i++)
        if (xids[i] == xid)
            return true;
    return false;
}

/* Rows committed by awaited transactions are below the lanes' start, so those lanes are scanned
 * again. */
static void note_endings(pawli_cursor *cursor, const pawli_cursor_scan *scan)
{
    size_t kept = 0;

    for (size_t i = 0; i < cursor->awaited_count; i++) {
        int64_t xid = cursor->awaited[i];
        if (xid >= scan->next_xid || cursor_contains(scan->running, scan->running_count, xid))
            cursor->awaited[kept++] = xid;
    }
    if (kept == cursor->awaited_count)
        return;
    cursor->awaited_count = kept;
    cursor->endings++;
    for (size_t i = 0; i < cursor->lane_count; i++)
        if (cursor->lanes[i].start.us != cursor->lanes[i].settled.us)
            cursor->lanes[i].again = true;
}

/* A transaction that has been running since before a sufficiently old epoch is awaited from now
 * on. */
static void await_long(pawli_cursor *cursor, const pawli_cursor_scan *scan)
{
    int64_t long_ago = scan->epoch.time.us - cursor->limits.long_us;
    int64_t first_recent = 0;

    for (size_t i = 0; i < cursor->epoch_count && cursor->epochs[i].time.us <= long_ago; i++)
        if (cursor->epochs[i].xid > first_recent)
            first_recent = cursor->epochs[i].xid;
    for (size_t i = 0; i < scan->running_count && scan->running[i] < first_recent; i++)
        if (cursor->awaited_count < PAWLI_CURSOR_RUNNING &&
            !cursor_contains(cursor->awaited, cursor->awaited_count, scan->running[i]))
            cursor->awaited[cursor->awaited_count++] = scan->running[i];
}

static int64_t first_running(const pawli_cursor_scan *scan)
{
    return scan->running_count > 0 && scan->running[0] < scan->next_xid ? scan->running[0]
                                                                        : scan->next_xid;
}

static int64_t first_not_awaited(const pawli_cursor *cursor, const pawli_cursor_scan *scan)
{
    for (size_t i = 0; i < scan->running_count && scan->running[i] < scan->next_xid; i++)
        if (!cursor_contains(cursor->awaited, cursor->awaited_count, scan->running[i]))
            return scan->running[i];
    return scan->next_xid;
}

/* ---- lanes ---- */

static size_t cursor_place_of(const pawli_cursor *cursor, int64_t id)
{
    size_t low = 0, high = cursor->lane_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cursor->lanes[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Finds the lane, or adds it at its beginning; NULL if memory ran out. */
static pawli_cursor_lane *lane_of(pawli_cursor *cursor, int64_t id)
{
    size_t at = cursor_place_of(cursor, id);

    if (at < cursor->lane_count && cursor->lanes[at].id == id)
        return &cursor->lanes[at];
    if (cursor->lane_count == cursor->lane_capacity) {
        size_t capacity = cursor->lane_capacity ? cursor->lane_capacity * 2 : 16;
        pawli_cursor_lane *lanes = realloc(cursor->lanes, capacity * sizeof *lanes);
        if (!lanes)
            return NULL;
        cursor->lanes = lanes;
        cursor->lane_capacity = capacity;
    }
    pawli_cursor_lane *lane = &cursor->lanes[at];
    memmove(lane + 1, lane, (cursor->lane_count - at) * sizeof *lane);
    cursor->lane_count++;
    *lane = (pawli_cursor_lane){.id = id};
    return lane;
}

/*
 * Forgets lanes that were removed or whose topics are no longer claimed. This is always safe: a
 * lane without a position is scanned from its beginning. The cursor therefore holds at most the
 * lanes that the store's claims reached within twice forget_us.
 */
static void forget_lanes(pawli_cursor *cursor, pawl_mono now)
{
    size_t kept = 0;

    if (now.us < cursor->forget_after.us)
        return;
    for (size_t i = 0; i < cursor->lane_count; i++)
        if (now.us - cursor->lanes[i].found_at.us < cursor->limits.forget_us)
            cursor->lanes[kept++] = cursor->lanes[i];
    if (kept < cursor->lane_count)
        cursor->version++; /* scans in progress must not restore them from outdated results */
    cursor->lane_count = kept;
    cursor->forget_after = (pawl_mono){now.us + cursor->limits.forget_us};
    if (kept < cursor->lane_capacity / 4) {
        pawli_cursor_lane *lanes = realloc(cursor->lanes, (kept + 16) * sizeof *lanes);
        if (lanes) {
            cursor->lanes = lanes;
            cursor->lane_capacity = kept + 16;
        }
    }
}

/* Where the scan started in the lane; NULL: at the beginning. */
static const pawli_cursor_scan_start *start_in(const pawli_cursor_scan *scan, int64_t lane)
{
    size_t low = 0, high = scan->start_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (scan->starts[middle].lane < lane)
            low = middle + 1;
        else
            high = middle;
    }
    return low < scan->start_count && scan->starts[low].lane == lane ? &scan->starts[low] : NULL;
}

/* What one scan observed about all its lanes. */
typedef struct observation {
    const pawli_cursor_scan *scan;
    pawl_wall settled; /* everything stamped before this is in the scan's snapshot */
    pawl_wall open;    /* the same, except for awaited transactions */
    bool current;      /* no awaited transaction was seen to end during the scan */
    pawl_mono now;
    int64_t spent;
} observation;

static void plan_sweep(const pawli_cursor *cursor, const observation *observed,
                       pawli_cursor_lane *lane)
{
    int64_t pause = observed->spent * cursor->limits.sweep_share;

    if (pause < cursor->limits.sweep_us)
        pause = cursor->limits.sweep_us;
    lane->sweep_after = (pawl_mono){observed->now.us + pause};
}

/* Returns true if the scan found that the lane's position was too far ahead. */
static bool learn_lane(pawli_cursor *cursor, const observation *observed,
                       const pawli_cursor_scan_found *found)
{
    const pawli_cursor_scan_start *start = start_in(observed->scan, found->lane);
    pawli_cursor_scan_kind kind = start ? start->kind : PAWLI_SCAN_SWEEP;
    pawli_cursor_lane *lane = lane_of(cursor, found->lane);
    bool some_left = found->oldest.us != PAWL_TIME_UNSET.us;
    pawl_wall end = observed->scan->epoch.time;
    bool moved_back = false;

    if (!lane)
        return false;
    lane->found_at = observed->now;
    if (lane->back_by == observed->scan->number)
        lane->back_by = 0;
    if (some_left)
        end = cursor_earlier(end, found->oldest);
    if (kind == PAWLI_SCAN_SWEEP)
        plan_sweep(cursor, observed, lane);
    else if (kind == PAWLI_SCAN_AGAIN)
        lane->again_after =
            (pawl_mono){observed->now.us + observed->spent * cursor->limits.again_share};
    if (kind == PAWLI_SCAN_SWEEP || (kind != PAWLI_SCAN_OPEN && lane->again)) {
        moved_back = some_left && found->oldest.us < lane->start.us;
        if (moved_back)
            lane->start = end;
        lane->settled = cursor_earlier(lane->settled, lane->start);
    }
    if (kind != PAWLI_SCAN_OPEN) {
        lane->settled = cursor_later(lane->settled, cursor_earlier(observed->settled, end));
        lane->again = lane->again && !observed->current;
    }
    if (observed->current)
        lane->start = cursor_later(lane->start, cursor_earlier(observed->open, end));
    lane->start = cursor_later(lane->start, lane->settled);
    return moved_back;
}

/* True if an awaited transaction may have committed rows that the scan could not see. */
static bool again_due(const pawli_cursor *cursor, const pawli_cursor_scan *scan)
{
    for (size_t i = 0; i < scan->start_count; i++) {
        size_t at = cursor_place_of(cursor, scan->starts[i].lane);
        if (scan->starts[i].kind == PAWLI_SCAN_OPEN && at < cursor->lane_count &&
            cursor->lanes[at].id == scan->starts[i].lane && cursor->lanes[at].again)
            return true;
    }
    return false;
}

/* If the scan was to go back for all lanes but did not report on this one, the next scan must. */
static void leave_to_next_scan(pawli_cursor *cursor, const pawli_cursor_scan *scan)
{
    for (size_t i = 0; scan->goes_back && i < cursor->lane_count; i++) {
        pawli_cursor_lane *lane = &cursor->lanes[i];
        if (lane->back_by != scan->number)
            continue;
        lane->sweep_after = (pawl_mono){0};
        lane->again_after = (pawl_mono){0};
        lane->back_by = 0;
    }
}

/*
 * Handles lanes that the scan was to sweep but did not meet; most of them no longer exist. A
 * scan that goes back examines all lanes in order to report on them, so missing lanes must not
 * make every scan do so. Their positions are dropped; if such a lane still exists, it is scanned
 * from its beginning, which is the sweep.
 */
static void drop_unmet_positions(pawli_cursor *cursor, const pawli_cursor_scan *scan)
{
    bool was_again = false;

    for (size_t i = 0; scan->goes_back && i < cursor->lane_count; i++) {
        pawli_cursor_lane *lane = &cursor->lanes[i];
        if (lane->back_by != scan->number || start_in(scan, lane->id))
            continue;
        was_again = was_again || lane->again;
        lane->start = lane->settled = PAWL_TIME_UNSET;
        lane->again = false;
    }
    if (was_again)
        cursor->version++; /* scans in progress do not know what awaited transactions committed */
}

static bool cursor_learn(pawli_cursor *cursor, const pawli_cursor_scan *scan, uint64_t connections,
                         pawl_mono now)
{
    observation observed = {.scan = scan, .now = now, .spent = now.us - scan->began.us};
    bool moved_back = false;

    if (scan->version != cursor->version) {
        leave_to_next_scan(cursor, scan);
        return true;
    }
    if (scan->clock.us != PAWL_TIME_UNSET.us && scan->clock.us < scan->seen.us) {
        cursor_drop(cursor);
        return true;
    }
    if (scan->epoch.xid == 0 || scan->failed) {
        leave_to_next_scan(cursor, scan);
        return false;
    }
    if (connections != scan->connections || scan->epoch.time.us < scan->seen.us) {
        cursor_drop(cursor);
        return true;
    }
    cursor->seen = cursor_later(cursor->seen, scan->epoch.time);
    remember_epoch(cursor, scan->epoch);
    observed.current = scan->endings == cursor->endings;
    note_endings(cursor, scan);
    await_long(cursor, scan);
    observed.settled = epoch_up_to(cursor, first_running(scan));
    observed.open = epoch_up_to(cursor, first_not_awaited(cursor, scan));
    for (size_t i = 0; i < scan->found_count; i++)
        moved_back = learn_lane(cursor, &observed, &scan->found[i]) || moved_back;
    drop_unmet_positions(cursor, scan);
    leave_to_next_scan(cursor, scan);
    forget_lanes(cursor, now);
    forget_epochs_before(cursor, observed.settled);
    if (moved_back)
        cursor->version++; /* scans in progress must not advance those lanes */
    return again_due(cursor, scan);
}

bool pawli_cursor_learn(pawli_cursor *cursor, const pawli_cursor_scan *scan, uint64_t connections,
                        pawl_mono now)
{
    pthread_mutex_lock(&cursor->lock);
    bool taken_back = cursor_learn(cursor, scan, connections, now);
    pthread_mutex_unlock(&cursor->lock);
    return taken_back && scan->start_count > 0;
}
