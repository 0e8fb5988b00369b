/* tests/model/simulated_server.c - a PostgreSQL small enough to be driven one step at a time. */
#include "simulated_server.h"

#include <string.h>

void server_init(server *s, int64_t clock)
{
    memset(s->xids, XID_UNUSED, sizeof s->xids);
    s->elapsed = 0;
    s->step = clock;
    s->next_xid = 3;
    s->latest_completed = 2;
    s->running_count = 0;
    s->version_count = 0;
    s->row_count = 0;
}

int64_t server_clock(const server *s)
{
    return s->elapsed + s->step;
}

bool server_is_full(const server *s)
{
    return s->next_xid > SERVER_XIDS - 100 || s->version_count > SERVER_VERSIONS - 200 ||
           s->row_count > SERVER_ROWS - 50;
}

int64_t server_begin(server *s)
{
    s->xids[s->next_xid] = XID_RUNNING;
    s->running[s->running_count++] = s->next_xid;
    return s->next_xid++;
}

static void forget_running(server *s, int64_t xid)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->running_count; i++)
        if (s->running[i] != xid)
            s->running[kept++] = s->running[i];
    s->running_count = kept;
}

/* Undo what the transaction did to the version. */
static void undo(server *s, int i, int64_t xid)
{
    row_version *v = &s->versions[i];

    if (v->ended_by == xid)
        v->ended_by = 0;
    if (v->made_by == xid && s->latest[v->row] == i)
        do
            s->latest[v->row] = s->versions[s->latest[v->row]].previous;
        while (s->latest[v->row] >= 0 &&
               s->xids[s->versions[s->latest[v->row]].made_by] == XID_ABORTED);
}

void server_end(server *s, int64_t xid, bool commit)
{
    s->xids[xid] = commit ? XID_COMMITTED : XID_ABORTED;
    forget_running(s, xid);
    if (xid > s->latest_completed)
        s->latest_completed = xid;
    for (size_t i = s->version_count; i > 0 && !commit; i--)
        undo(s, (int)(i - 1), xid);
}

snapshot server_snapshot(const server *s, int64_t own_xid)
{
    snapshot at = {.next = s->latest_completed + 1};

    for (size_t i = 0; i < s->running_count; i++)
        if (s->running[i] < at.next && s->running[i] != own_xid)
            at.running[at.running_count++] = s->running[i];
    return at;
}

static void add_version(server *s, row_version version)
{
    s->latest[version.row] = (int)s->version_count;
    s->versions[s->version_count++] = version;
}

void server_insert(server *s, int64_t xid, int lane, int64_t run_at)
{
    add_version(
        s,
        (row_version){
            .row = s->row_count++, .lane = lane, .previous = -1, .run_at = run_at, .made_by = xid});
}

void server_change(server *s, int64_t xid, int row, int64_t run_at, int64_t lease_until, bool gone)
{
    row_version *old = &s->versions[s->latest[row]];
    row_version changed = {.row = row,
                           .lane = old->lane,
                           .previous = s->latest[row],
                           .run_at = run_at,
                           .lease_until = lease_until,
                           .made_by = xid};

    old->ended_by = xid;
    if (!gone)
        add_version(s, changed);
}

static bool runs_elsewhere(const server *s, int64_t xid, int64_t own_xid)
{
    return xid != 0 && xid != own_xid && s->xids[xid] == XID_RUNNING;
}

bool server_locked(const server *s, int row, int64_t own_xid)
{
    if (s->latest[row] < 0)
        return false;
    const row_version *v = &s->versions[s->latest[row]];
    return runs_elsewhere(s, v->made_by, own_xid) || runs_elsewhere(s, v->ended_by, own_xid) ||
           runs_elsewhere(s, v->locked_by, own_xid);
}

void server_lock(server *s, int row, int64_t xid)
{
    s->versions[s->latest[row]].locked_by = xid;
}

static bool sees(const server *s, const snapshot *at, int64_t own_xid, int64_t xid)
{
    if (xid == 0)
        return false;
    if (xid == own_xid)
        return true;
    if (xid >= at->next || s->xids[xid] != XID_COMMITTED)
        return false;
    for (size_t i = 0; i < at->running_count; i++)
        if (at->running[i] == xid)
            return false;
    return true;
}

const row_version *server_visible(const server *s, const snapshot *at, int64_t own_xid, int row)
{
    for (int i = s->latest[row]; i >= 0; i = s->versions[i].previous)
        if (sees(s, at, own_xid, s->versions[i].made_by))
            return sees(s, at, own_xid, s->versions[i].ended_by) ? NULL : &s->versions[i];
    return NULL;
}

const row_version *server_newest(const server *s, int row)
{
    if (s->latest[row] < 0)
        return NULL;
    const row_version *v = &s->versions[s->latest[row]];
    return v->ended_by != 0 ? NULL : v;
}

void server_fail_over(server *s, int64_t first_lost)
{
    for (int64_t xid = 3; xid < s->next_xid; xid++)
        if (s->xids[xid] == XID_RUNNING || (xid >= first_lost && s->xids[xid] == XID_COMMITTED))
            server_end(s, xid, false);
    /* The lost ids are given out again: nothing may remember them. */
    for (size_t i = 0; i < s->version_count; i++) {
        row_version *v = &s->versions[i];
        if (v->made_by >= first_lost)
            v->made_by = 2;
        if (v->locked_by >= first_lost)
            v->locked_by = 0;
    }
    s->xids[2] = XID_ABORTED;
    for (int64_t xid = first_lost; xid < s->next_xid; xid++)
        s->xids[xid] = XID_UNUSED;
    s->next_xid = first_lost;
    s->latest_completed = first_lost - 1;
}
