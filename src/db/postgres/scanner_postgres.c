/* src/db/postgres/scanner_postgres.c - runs ops that scan from a cursor's positions, and reads what
 * they observed. */
#include "scanner_postgres.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "codes.h"
#include "db.h"
#include "fail.h"
#include "platform.h"

/* The scan's own parameters, and those of the scanner. */
#define OP_PARAMS_MAX 8
#define PARAMS_MAX (OP_PARAMS_MAX + 4)
/* How many messages a position may lag behind: walking over them is cheaper than asking at every
 * claim. */
#define LAG_MAX 400
/* How many lanes without a position a list of positions may span. */
#define GAPS_MAX 10000

/* ---- a store's scanner ---- */

pawl_status pawli_postgres_scanner_new(pawli_db *db, pawli_scanner **ret_scanner, pawl_error *err)
{
    pawli_scanner *scanner = calloc(1, sizeof *scanner);

    if (!scanner)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the store");
    scanner->db = db;
    pawli_cursor_init(&scanner->claim, &pawli_cursor_usual);
    pawli_cursor_init(&scanner->claim_remote, &pawli_cursor_usual);
    pawli_cursor_init(&scanner->reap, &pawli_cursor_usual);
    atomic_init(&scanner->claimed_lane, 0);
    *ret_scanner = scanner;
    return PAWL_OK;
}

void pawli_postgres_scanner_free(pawli_scanner *scanner)
{
    pawli_cursor_done(&scanner->claim);
    pawli_cursor_done(&scanner->claim_remote);
    pawli_cursor_done(&scanner->reap);
    free(scanner);
}

/* ---- one scan, as a chain of up to three ops ---- */

/* What an attempt returned beside the positions. */
typedef struct scan_result {
    int64_t last_lane; /* where it ended; 0: it claimed nothing */
    unsigned claimed;  /* messages */
    pawl_wall clock;   /* the database's, when it began; PAWL_TIME_UNSET: not returned */
} scan_result;

/* Shared by the ops: where they read their rows from. */
typedef struct scan_run {
    const pawli_op *ack; /* NULL: none */
    const pawli_op *op;
    int lane, clock; /* of the op's columns; -1: it has none */
    int64_t after_lane;
    pawli_cursor_scan scan;
    bool notes;         /* wanted in any case */
    scan_result result; /* of this attempt */
    pawli_param params[PARAMS_MAX];
} scan_run;

static int scan_column(const pawli_columns *columns, const char *name)
{
    for (size_t i = 0; columns && i < columns->count; i++)
        if (strcmp(columns->names[i], name) == 0)
            return (int)i;
    return -1;
}

static void scan_on_start(void *context)
{
    scan_run *run = context;

    pawli_cursor_scan_restart(&run->scan);
    run->result = (scan_result){0};
    if (run->op->on_start)
        run->op->on_start(run->op->context);
}

static pawl_status scan_on_row(void *context, const pawli_row *row, pawl_error *err)
{
    scan_run *run = context;

    if (run->lane >= 0 && !pawli_row_is_null(row, run->lane)) {
        run->result.last_lane = pawli_row_int(row, run->lane);
        run->result.claimed++;
    }
    if (run->clock >= 0 && !pawli_row_is_null(row, run->clock))
        pawli_cursor_scan_clock(&run->scan, pawli_row_time(row, run->clock));
    return run->op->on_row(run->op->context, row, err);
}

/* The columns of claim_notes. */
enum { NOTE_ITEM, NOTE_NUMBER, NOTE_AT };

static pawl_status scan_on_note(void *context, const pawli_row *row, pawl_error *err)
{
    scan_run *run = context;
    int64_t number = pawli_row_int(row, NOTE_NUMBER);
    pawl_wall time = {pawli_row_int(row, NOTE_AT)};

    (void)err;
    switch (pawli_row_int(row, NOTE_ITEM)) {
    case PAWLI_NOTE_EPOCH:
        pawli_cursor_scan_epoch(&run->scan, time, number);
        run->result.clock = time;
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

static pawl_status scan_run_chain(pawli_db *db, scan_run *run, pawl_error *err)
{
    const pawli_cursor_scan *scan = &run->scan;
    size_t from = 0, span = span_of(scan, &from);
    int64_t first = span > 0 ? scan->starts[from].lane : 0;
    pawli_op op = *run->op;
    pawli_op notes = {.sql = PAWLI_SQL_CLAIM_NOTES, .on_row = scan_on_note, .context = run};
    PAWLI_AUTO_FREE int64_t *since = calloc(span + 1, sizeof *since);

    if (!since)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu positions", span);
    for (size_t i = from; i < scan->start_count && scan->starts[i].lane - first < (int64_t)span;
         i++)
        since[scan->starts[i].lane - first] = scan->starts[i].since.us;
    assert(op.param_count <= OP_PARAMS_MAX);
    memcpy(run->params, op.params, op.param_count * sizeof *op.params);
    run->params[op.param_count++] = (pawli_param){"after_lane", pawli_int(run->after_lane)};
    run->params[op.param_count++] = (pawli_param){"cursor_first", pawli_int(first)};
    run->params[op.param_count++] = (pawli_param){"cursor_since", pawli_times(since, span)};
    run->params[op.param_count++] = (pawli_param){"notes", pawli_bool(run->notes)};
    op.params = run->params;
    op.on_row = scan_on_row;
    op.on_start = scan_on_start;
    op.context = run;
    op.next = &notes;
    if (!run->ack)
        return pawli_db_run(db, &op, err);
    pawli_op ack = *run->ack;
    ack.sql = PAWLI_SQL_CLAIM_ACK;
    ack.next = &op;
    return pawli_db_run(db, &ack, err);
}

/* The last attempt's result is in `run`. */
static pawl_status scan_attempts(pawli_db *db, pawli_cursor *cursor, scan_run *run,
                                 bool (*found_nothing)(const void *context), pawl_error *err)
{
    pawl_status st = PAWL_OK;
    bool again = true;
    pawl_wall clock = PAWL_TIME_UNSET;

    for (int attempt = 0; st == PAWL_OK && again && attempt < 2; attempt++) {
        pawli_cursor_begin(cursor, pawli_db_connections(db), pawli_mono_now(), attempt > 0,
                           &run->scan);
        run->notes = attempt > 0 || run->scan.goes_back || run->scan.start_count == 0 ||
                     atomic_load(&cursor->since_note) >= LAG_MAX;
        st = scan_run_chain(db, run, err);
        if (run->scan.epoch.xid != 0)
            atomic_store(&cursor->since_note, 0);
        run->ack = NULL; /* if this attempt is repeated, it was committed */
        if (run->result.clock.us != 0)
            clock = run->result.clock;
        if (st == PAWL_OK)
            again = pawli_cursor_learn(cursor, &run->scan, pawli_db_connections(db),
                                       pawli_mono_now()) &&
                    found_nothing(run->op->context);
        else
            pawli_cursor_drop(cursor); /* in doubt, or failed for an unknown reason */
    }
    run->result.clock = clock;
    pawli_cursor_scan_done(&run->scan);
    return st;
}

static pawl_status scan_claim(pawli_scanner *scanner, scan_run *run,
                              bool (*found_nothing)(const void *context), pawl_error *err)
{
    bool remote = run->op->sql == PAWLI_SQL_CLAIM_REMOTE;
    pawli_cursor *cursor = remote ? &scanner->claim_remote : &scanner->claim;

    run->after_lane = atomic_load(&scanner->claimed_lane);
    pawl_status st = scan_attempts(scanner->db, cursor, run, found_nothing, err);
    if (st != PAWL_OK)
        return st;
    if (!remote && run->result.last_lane != 0)
        atomic_store(&scanner->claimed_lane, run->result.last_lane);
    atomic_fetch_add(&cursor->since_note, run->result.claimed);
    return PAWL_OK;
}

static pawl_status scan_reap(pawli_scanner *scanner, scan_run *run,
                             bool (*found_nothing)(const void *context), pawl_error *err)
{
    pawl_wall seen = pawli_cursor_seen(&scanner->claim);
    pawl_wall seen_remote = pawli_cursor_seen(&scanner->claim_remote);
    pawl_status st = scan_attempts(scanner->db, &scanner->reap, run, found_nothing, err);

    if (st == PAWL_OK && run->result.clock.us != 0) { /* possibly a reading that no claim saw */
        pawli_cursor_clock(&scanner->claim, seen, run->result.clock);
        pawli_cursor_clock(&scanner->claim_remote, seen_remote, run->result.clock);
    }
    return st;
}

pawl_status pawli_postgres_scan(pawli_scanner *scanner, const pawli_op *ops,
                                bool (*found_nothing)(const void *context), pawl_error *err)
{
    const pawli_op *op = ops->next ? ops->next : ops;
    scan_run run = {.ack = ops->next ? ops : NULL,
                    .op = op,
                    .lane = scan_column(op->columns, "lane"),
                    .clock = scan_column(op->columns, "clock")};
    /* Before any lock is taken: in a forked child the lock may have been inherited in a locked
     * state. */
    pawl_status st = pawli_db_check_process(scanner->db, err);

    if (st != PAWL_OK)
        return st;
    return op->sql == PAWLI_SQL_REAP ? scan_reap(scanner, &run, found_nothing, err)
                                     : scan_claim(scanner, &run, found_nothing, err);
}
