/* src/core/look.c - what the database answered to one look at the queue. */
#include "cursor.h"

#include <stdlib.h>

void pawli_look_restart(pawli_look *look)
{
    look->clock = PAWL_NEVER;
    look->epoch = (pawli_epoch){PAWL_NEVER, 0};
    look->next_xid = 0;
    look->running_count = 0;
    look->found_count = 0;
    look->spoilt = false;
}

void pawli_look_done(pawli_look *look)
{
    free(look->starts);
    free(look->found);
    *look = (pawli_look){0};
}

void pawli_look_clock(pawli_look *look, pawl_wall time)
{
    look->clock = time;
}

void pawli_look_epoch(pawli_look *look, pawl_wall time, int64_t xid)
{
    look->epoch = (pawli_epoch){time, xid};
}

void pawli_look_next(pawli_look *look, int64_t next_xid)
{
    look->next_xid = next_xid;
}

void pawli_look_running(pawli_look *look, int64_t xid)
{
    if (look->running_count < PAWLI_CURSOR_RUNNING)
        look->running[look->running_count++] = xid;
    else if (xid < look->next_xid)
        look->next_xid = xid; /* no room: this and all later ones count as running */
}

void pawli_look_lane(pawli_look *look, int64_t lane, pawl_wall oldest)
{
    if (look->found_count == look->found_capacity) {
        size_t capacity = look->found_capacity ? look->found_capacity * 2 : 16;
        pawli_look_found *found = realloc(look->found, capacity * sizeof *found);
        if (!found) {
            look->spoilt = true;
            return;
        }
        look->found = found;
        look->found_capacity = capacity;
    }
    look->found[look->found_count++] = (pawli_look_found){lane, oldest};
}
