/* src/db/postgres/cursor_scan_postgres.c - the observations that one scan returned. */
#include <stdlib.h>

#include "cursor_postgres.h"

void pawli_cursor_scan_restart(pawli_cursor_scan *scan)
{
    scan->clock = PAWL_TIME_UNSET;
    scan->epoch = (pawli_epoch){PAWL_TIME_UNSET, 0};
    scan->next_xid = 0;
    scan->running_count = 0;
    scan->found_count = 0;
    scan->failed = false;
}

void pawli_cursor_scan_done(pawli_cursor_scan *scan)
{
    free(scan->starts);
    free(scan->found);
    *scan = (pawli_cursor_scan){0};
}

void pawli_cursor_scan_clock(pawli_cursor_scan *scan, pawl_wall time)
{
    scan->clock = time;
}

void pawli_cursor_scan_epoch(pawli_cursor_scan *scan, pawl_wall time, int64_t xid)
{
    scan->epoch = (pawli_epoch){time, xid};
}

void pawli_cursor_scan_next(pawli_cursor_scan *scan, int64_t next_xid)
{
    scan->next_xid = next_xid;
}

void pawli_cursor_scan_running(pawli_cursor_scan *scan, int64_t xid)
{
    if (scan->running_count < PAWLI_CURSOR_RUNNING)
        scan->running[scan->running_count++] = xid;
    else if (xid < scan->next_xid)
        scan->next_xid = xid; /* no room: this transaction and all later ones count as running */
}

void pawli_cursor_scan_lane(pawli_cursor_scan *scan, int64_t lane, pawl_wall oldest)
{
    if (scan->found_count == scan->found_capacity) {
        size_t capacity = scan->found_capacity ? scan->found_capacity * 2 : 16;
        pawli_cursor_scan_found *found = realloc(scan->found, capacity * sizeof *found);
        if (!found) {
            scan->failed = true;
            return;
        }
        scan->found = found;
        scan->found_capacity = capacity;
    }
    scan->found[scan->found_count++] = (pawli_cursor_scan_found){lane, oldest};
}
