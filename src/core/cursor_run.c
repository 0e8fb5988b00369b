/* src/core/cursor_run.c - runs ops that scan from a cursor's positions, and reads their
 * observations. */
#include "codes.h"

#include <stdlib.h>
#include <string.h>

#include "cursor.h"
#include "cursor_run.h"
#include "fail.h"
#include "platform.h"
#include "scope.h"
#include "store_private.h"

/* ---- ops that scan from a cursor's positions ---- */

#define PARAMS_MAX 10 /* including the cursor's own */
/* How many messages a position may lag behind: walking over them is cheaper than asking at every
 * claim. */
#define LAG_MAX 400
/* How many lanes without a position a list of positions may span. */
#define GAPS_MAX 10000

/* Shared by the op and the scan: where both read their rows from. */
typedef struct run_context {
    const pawli_op *ack; /* NULL: none */
    const pawli_op *op;
    int lane, clock; /* of the op's columns; -1: it has none */
    pawli_cursor_scan scan;
    bool notes;               /* requested by the caller */
    pawli_cursor_notes found; /* by this attempt */
    pawli_param params[PARAMS_MAX];
} run_context;

static int column_of(const pawli_columns *columns, const char *name)
{
    for (size_t i = 0; columns && i < columns->count; i++)
        if (strcmp(columns->names[i], name) == 0)
            return (int)i;
    return -1;
}

static void cursor_run_on_start(void *context)
{
    run_context *run = context;

    pawli_cursor_scan_restart(&run->scan);
    run->found = (pawli_cursor_notes){0};
    if (run->op->on_start)
        run->op->on_start(run->op->context);
}

static pawl_status cursor_run_on_row(void *context, const pawli_row *row, pawl_error *err)
{
    run_context *run = context;

    if (run->lane >= 0 && !pawli_row_is_null(row, run->lane))
        run->found.last_lane = pawli_row_int(row, run->lane);
    if (run->clock >= 0 && !pawli_row_is_null(row, run->clock))
        pawli_cursor_scan_clock(&run->scan, pawli_row_time(row, run->clock));
    return run->op->on_row(run->op->context, row, err);
}

/* The columns of claim_notes. */
enum { NOTE_ITEM, NOTE_NUMBER, NOTE_AT };

static pawl_status cursor_run_on_note(void *context, const pawli_row *row, pawl_error *err)
{
    run_context *run = context;
    int64_t number = pawli_row_int(row, NOTE_NUMBER);
    pawl_wall time = {pawli_row_int(row, NOTE_AT)};

    (void)err;
    switch (pawli_row_int(row, NOTE_ITEM)) {
    case PAWLI_NOTE_EPOCH:
        pawli_cursor_scan_epoch(&run->scan, time, number);
        run->found.clock = time;
        break;
    case PAWLI_NOTE_NEXT:
        pawli_cursor_scan_next(&run->scan, number);
        break;
    case PAWLI_NOTE_RUNNING:
        pawli_cursor_scan_running(&run->scan, number);
        break;
    case PAWLI_NOTE_LANE:
        pawli_cursor_scan_lane(&run->scan, number, time);
        break;
    default:
        break; /* ignore rows that a later schema adds */
    }
    return PAWL_OK;
}

/*
 * The list has an entry for every lane from the first to the last, so its span is limited: of
 * all spans within the limit, choose the one with the most positions. The other lanes are
 * scanned from their beginning.
 */
static size_t span_of(const pawli_cursor_scan *scan, size_t *ret_first)
{
    const pawli_cursor_scan_start *starts = scan->starts;
    int64_t most = (int64_t)scan->start_count + GAPS_MAX;
    size_t best = 0, first = 0, last = 0;

    for (size_t i = 0, end = 0; i < scan->start_count; i++) {
        while (end < scan->start_count && starts[end].lane - starts[i].lane < most)
            end++;
        if (end - i > best) {
            best = end - i;
            first = i;
            last = end - 1;
        }
    }
    *ret_first = first;
    return best == 0 ? 0 : (size_t)(starts[last].lane - starts[first].lane + 1);
}

static pawl_status cursor_run_run_from(pawl_store *store, run_context *run, pawl_error *err)
{
    const pawli_cursor_scan *scan = &run->scan;
    size_t from = 0, span = span_of(scan, &from);
    int64_t first = span > 0 ? scan->starts[from].lane : 0;
    pawli_op op = *run->op;
    pawli_op notes = {.sql = PAWLI_SQL_CLAIM_NOTES, .on_row = cursor_run_on_note, .context = run};
    PAWLI_AUTO_FREE int64_t *since = calloc(span + 1, sizeof *since);

    if (!since)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu positions", span);
    for (size_t i = from; i < scan->start_count && scan->starts[i].lane - first < (int64_t)span;
         i++)
        since[scan->starts[i].lane - first] = scan->starts[i].since.us;
    memcpy(run->params, op.params, op.param_count * sizeof *op.params);
    run->params[op.param_count++] = (pawli_param){"cursor_first", pawli_int(first)};
    run->params[op.param_count++] = (pawli_param){"cursor_since", pawli_times(since, span)};
    run->params[op.param_count++] = (pawli_param){"notes", pawli_bool(run->notes)};
    op.params = run->params;
    op.on_row = cursor_run_on_row;
    op.on_start = cursor_run_on_start;
    op.context = run;
    op.next = &notes;
    if (!run->ack)
        return pawli_store_write(store, &op, err);
    pawli_op ack = *run->ack;
    ack.sql = PAWLI_SQL_CLAIM_ACK;
    ack.next = &op;
    return pawli_store_write(store, &ack, err);
}

/* On an engine that keeps no positions. */
static pawl_status run_plain(pawl_store *store, const pawli_op *ack, const pawli_op *op,
                             pawl_error *err)
{
    pawli_op first;

    if (!ack)
        return pawli_store_write(store, op, err);
    first = *ack;
    first.next = op;
    return pawli_store_write(store, &first, err);
}

pawl_status pawli_cursor_run(pawl_store *store, pawli_cursor *cursor, const pawli_op *ack,
                             const pawli_op *op, bool (*found_nothing)(const void *context),
                             pawli_cursor_notes *notes, pawl_error *err)
{
    if (!pawli_db_driver(store->db)->keeps_positions)
        return run_plain(store, ack, op, err);
    run_context run = {.ack = ack,
                       .op = op,
                       .lane = column_of(op->columns, "lane"),
                       .clock = column_of(op->columns, "clock")};
    /* Before any lock is taken: in a forked child the lock may have been inherited in a locked
     * state. */
    pawl_status st = pawli_db_check_process(store->db, err);
    bool again = true;

    for (int attempt = 0; st == PAWL_OK && again && attempt < 2; attempt++) {
        pawli_cursor_begin(cursor, pawli_db_connections(store->db), pawli_mono_now(), attempt > 0,
                           &run.scan);
        run.notes = attempt > 0 || run.scan.goes_back || run.scan.start_count == 0 ||
                    atomic_load(&cursor->since_note) >= LAG_MAX;
        st = cursor_run_run_from(store, &run, err);
        if (run.scan.epoch.xid != 0)
            atomic_store(&cursor->since_note, 0);
        run.ack = NULL; /* if this attempt is repeated, it was committed */
        if (run.found.last_lane != 0)
            notes->last_lane = run.found.last_lane;
        if (run.found.clock.us != 0)
            notes->clock = run.found.clock;
        if (st == PAWL_OK)
            again = pawli_cursor_learn(cursor, &run.scan, pawli_db_connections(store->db),
                                       pawli_mono_now()) &&
                    found_nothing(op->context);
        else
            pawli_cursor_drop(cursor); /* in doubt, or failed for an unknown reason */
    }
    pawli_cursor_scan_done(&run.scan);
    return st;
}

/* ---- the observations returned by one scan ---- */

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
