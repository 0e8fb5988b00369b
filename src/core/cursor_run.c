/* src/core/cursor_run.c - ops that start to look where a cursor says. */
#include "cursor_run.h"

#include "fail.h"
#include "scope.h"
#include "store_private.h"
#include "world.h"

enum { ITEM_EPOCH = 1, ITEM_NEXT, ITEM_RUNNING, ITEM_LANE };

/* What both the op and the look get their rows from. */
typedef struct run_context {
    const pawli_op *op;
    int column;
    pawli_look look;
} run_context;

static void on_start(void *context)
{
    run_context *run = context;

    pawli_look_restart(&run->look);
    if (run->op->on_start)
        run->op->on_start(run->op->context);
}

static pawl_status on_row(void *context, const pawli_row *row, pawl_error *err)
{
    run_context *run = context;

    if (!pawli_row_is_null(row, 0))
        return run->op->on_row(run->op->context, row, err);
    int64_t number = pawli_row_int(row, run->column + 1);
    pawl_wall time = pawli_row_time(row, run->column + 2);
    switch (pawli_row_int(row, run->column)) {
    case ITEM_EPOCH:
        pawli_look_epoch(&run->look, time, number);
        break;
    case ITEM_NEXT:
        pawli_look_next(&run->look, number);
        break;
    case ITEM_RUNNING:
        pawli_look_running(&run->look, number);
        break;
    case ITEM_LANE:
        pawli_look_lane(&run->look, number, time);
        break;
    default:
        break; /* a later schema may say more */
    }
    return PAWL_OK;
}

static pawl_status run_from(pawl_store *store, run_context *run, pawl_error *err)
{
    static const char *const names[] = {"cursor_lane", "cursor_since"};
    static const pawli_type types[] = {PAWLI_INT, PAWLI_TIME};
    const pawli_look *look = &run->look;
    PAWLI_AUTO_FREE pawli_value *values = malloc((look->start_count + 1) * 2 * sizeof *values);

    if (!values)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu positions", look->start_count);
    for (size_t i = 0; i < look->start_count; i++) {
        values[2 * i] = pawli_int(look->starts[i].lane);
        values[2 * i + 1] = pawli_time(look->starts[i].since);
    }
    pawli_rows rows = {look->start_count, 2, names, types, values};
    pawli_op op = *run->op;
    op.rows = &rows;
    op.on_row = on_row;
    op.on_start = on_start;
    op.context = run;
    return pawli_store_write(store, &op, err);
}

pawl_status pawli_cursor_run(pawl_store *store, pawli_cursor *cursor, const pawli_op *op,
                             int column, bool (*found_nothing)(const void *context),
                             pawl_error *err)
{
    run_context run = {.op = op, .column = column};
    /* Before any lock: a child process may have got it locked. */
    pawl_status st = pawli_db_check_process(store->db, err);
    bool again = true;

    for (int tries = 0; st == PAWL_OK && again && tries < 2; tries++) {
        pawli_cursor_begin(cursor, pawli_db_connections(store->db), pawli_mono_now(), tries > 0,
                           &run.look);
        st = run_from(store, &run, err);
        if (st == PAWL_OK)
            again = pawli_cursor_learn(cursor, &run.look, pawli_db_connections(store->db),
                                       pawli_mono_now()) &&
                    found_nothing(op->context);
        else
            pawli_cursor_drop(cursor); /* in doubt, or it is not known what went wrong */
    }
    pawli_look_done(&run.look);
    return st;
}
