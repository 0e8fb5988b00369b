/*
 * src/core/cursor.c - where the next look at the queue may start.
 *
 * Every step here has its reason in docs/internals/claim-cursor.md, and is tried against thousands
 * of random histories by tests/model/.
 */
#include "cursor.h"

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

/* ---- beginning a look ---- */

/*
 * A look that goes further back can be slow. It is one worker's: the others go on from where they
 * were until it has answered, or long enough has passed without.
 */
static pawli_cursor_scan_start cursor_start_of(const pawli_cursor *cursor, pawli_cursor_lane *lane,
                                               pawl_mono now, bool at_any_cost)
{
    if (lane->start.us == PAWL_TIME_UNSET.us && !lane->again) /* at the beginning anyway */
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

/* When full, every second one goes: the older, the further apart, so that any age is covered. */
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

/* The latest epoch all of whose predecessors are below `first_xid`; PAWL_TIME_UNSET: none is known.
 */
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

/* ---- transactions that take long ---- */

static bool cursor_contains(const int64_t *xids, size_t count, int64_t xid)
{
    for (size_t i = 0; i < count; i++)
        if (xids[i] == xid)
            return true;
    return false;
}

/* What awaited transactions brought is below the lanes' start, so those are looked at again. */
static void notice_endings(pawli_cursor *cursor, const pawli_cursor_scan *scan)
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

/* What runs since before an epoch that is long ago is from now on awaited. */
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

/* The lane, or a new one at its beginning; NULL without memory. */
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
 * Lanes that were removed, or whose topics are not asked for any more. That is always safe: a lane
 * without a position is looked at from its beginning. So the lanes here are at most those that the
 * store's claims reached within twice forget_us.
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
        cursor->version++; /* looks under way may not bring them back with what they do not know */
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

/* Where the look started in the lane; NULL: at the beginning. */
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

/* What one look says about all its lanes. */
typedef struct observation {
    const pawli_cursor_scan *scan;
    pawl_wall settled; /* everything stamped before this is in the look's snapshot */
    pawl_wall open;    /* the same but for awaited transactions */
    bool current;      /* no ending was noticed while it was under way */
    pawl_mono now;
    int64_t spent;
} observation;

static void plan_sweep(const pawli_cursor *cursor, const observation *says, pawli_cursor_lane *lane)
{
    int64_t pause = says->spent * cursor->limits.sweep_share;

    if (pause < cursor->limits.sweep_us)
        pause = cursor->limits.sweep_us;
    lane->sweep_after = (pawl_mono){says->now.us + pause};
}

/* True when the look found that the lane's position was too far on. */
static bool learn_lane(pawli_cursor *cursor, const observation *says,
                       const pawli_cursor_scan_found *found)
{
    const pawli_cursor_scan_start *start = start_in(says->scan, found->lane);
    pawli_cursor_scan_kind kind = start ? start->kind : PAWLI_SCAN_SWEEP;
    pawli_cursor_lane *lane = lane_of(cursor, found->lane);
    bool some_left = found->oldest.us != PAWL_TIME_UNSET.us;
    pawl_wall end = says->scan->epoch.time;
    bool moved_back = false;

    if (!lane)
        return false;
    lane->found_at = says->now;
    if (lane->back_by == says->scan->number)
        lane->back_by = 0;
    if (some_left)
        end = cursor_earlier(end, found->oldest);
    if (kind == PAWLI_SCAN_SWEEP)
        plan_sweep(cursor, says, lane);
    else if (kind == PAWLI_SCAN_AGAIN)
        lane->again_after = (pawl_mono){says->now.us + says->spent * cursor->limits.again_share};
    if (kind == PAWLI_SCAN_SWEEP || (kind != PAWLI_SCAN_OPEN && lane->again)) {
        moved_back = some_left && found->oldest.us < lane->start.us;
        if (moved_back)
            lane->start = end;
        lane->settled = cursor_earlier(lane->settled, lane->start);
    }
    if (kind != PAWLI_SCAN_OPEN) {
        lane->settled = cursor_later(lane->settled, cursor_earlier(says->settled, end));
        lane->again = lane->again && !says->current;
    }
    if (says->current)
        lane->start = cursor_later(lane->start, cursor_earlier(says->open, end));
    lane->start = cursor_later(lane->start, lane->settled);
    return moved_back;
}

/* Whether an awaited transaction may have brought something that the look could not see. */
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

/* Where the look was to go back for all, and did not answer for the lane, the next one is to. */
static void leave_to_others(pawli_cursor *cursor, const pawli_cursor_scan *scan)
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
 * Lanes that the look was to sweep, and that it did not meet: most of them are gone. A look that
 * goes back examines all lanes to answer for them, so they must not make every look do so. Without
 * a position the lane is looked at from its beginning, should it still be there: that is the sweep.
 */
static void take_back_unmet(pawli_cursor *cursor, const pawli_cursor_scan *scan)
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
        cursor->version++; /* looks under way do not know what awaited transactions brought */
}

static bool cursor_learn(pawli_cursor *cursor, const pawli_cursor_scan *scan, uint64_t connections,
                         pawl_mono now)
{
    observation says = {.scan = scan, .now = now, .spent = now.us - scan->began.us};
    bool moved_back = false;

    if (scan->version != cursor->version) {
        leave_to_others(cursor, scan);
        return true;
    }
    if (scan->clock.us != PAWL_TIME_UNSET.us && scan->clock.us < scan->seen.us) {
        cursor_drop(cursor);
        return true;
    }
    if (scan->epoch.xid == 0 || scan->failed) {
        leave_to_others(cursor, scan);
        return false;
    }
    if (connections != scan->connections || scan->epoch.time.us < scan->seen.us) {
        cursor_drop(cursor);
        return true;
    }
    cursor->seen = cursor_later(cursor->seen, scan->epoch.time);
    remember_epoch(cursor, scan->epoch);
    says.current = scan->endings == cursor->endings;
    notice_endings(cursor, scan);
    await_long(cursor, scan);
    says.settled = epoch_up_to(cursor, first_running(scan));
    says.open = epoch_up_to(cursor, first_not_awaited(cursor, scan));
    for (size_t i = 0; i < scan->found_count; i++)
        moved_back = learn_lane(cursor, &says, &scan->found[i]) || moved_back;
    take_back_unmet(cursor, scan);
    leave_to_others(cursor, scan);
    forget_lanes(cursor, now);
    forget_epochs_before(cursor, says.settled);
    if (moved_back)
        cursor->version++; /* looks under way may not push those lanes on */
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
