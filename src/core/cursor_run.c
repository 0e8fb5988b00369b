/* src/core/cursor_run.c - ops that start to look where a cursor says. */
#include "cursor_run.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "scope.h"
#include "store_private.h"
#include "world.h"

enum { ITEM_EPOCH = 1, ITEM_NEXT, ITEM_RUNNING, ITEM_LANE, ITEM_ACKED };

#define PARAMS_MAX 10 /* the two lists among them */

/* What both the op and the look get their rows from. */
typedef struct run_context {
    const pawli_op *op;
    int column;
    pawli_look look;
    size_t acked; /* by this attempt */
    pawli_param params[PARAMS_MAX];
} run_context;

static void on_start(void *context)
{
    run_context *run = context;

    pawli_look_restart(&run->look);
    run->acked = 0;
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
    case ITEM_ACKED:
        run->acked = (size_t)number;
        break;
    default:
        break; /* a later schema may say more */
    }
    return PAWL_OK;
}

static pawl_status run_from(pawl_store *store, run_context *run, pawl_error *err)
{
    const pawli_look *look = &run->look;
    size_t count = look->start_count;
    pawli_op op = *run->op;
    PAWLI_AUTO_FREE int64_t *numbers = malloc((count + 1) * 2 * sizeof *numbers);

    if (!numbers)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu positions", count);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = look->starts[i].lane;
        numbers[count + i] = look->starts[i].since.us;
    }
    memcpy(run->params, op.params, op.param_count * sizeof *op.params);
    run->params[op.param_count++] = (pawli_param){"cursor_lane", pawli_ints(numbers, count)};
    run->params[op.param_count++] =
        (pawli_param){"cursor_since", pawli_times(numbers + count, count)};
    op.params = run->params;
    op.on_row = on_row;
    op.on_start = on_start;
    op.context = run;
    return pawli_store_write(store, &op, err);
}

pawl_status pawli_cursor_run(pawl_store *store, pawli_cursor *cursor, const pawli_op *op,
                             int column, bool (*found_nothing)(const void *context),
                             size_t *ret_acked, pawl_error *err)
{
    run_context run = {.op = op, .column = column};
    size_t acked = 0;
    /* Before any lock: a child process may have got it locked. */
    pawl_status st = pawli_db_check_process(store->db, err);
    bool again = true;

    for (int tries = 0; st == PAWL_OK && again && tries < 2; tries++) {
        pawli_cursor_begin(cursor, pawli_db_connections(store->db), pawli_mono_now(), tries > 0,
                           &run.look);
        st = run_from(store, &run, err);
        acked += run.acked; /* they are committed; another try finds none of them */
        if (st == PAWL_OK)
            again = pawli_cursor_learn(cursor, &run.look, pawli_db_connections(store->db),
                                       pawli_mono_now()) &&
                    found_nothing(op->context);
        else
            pawli_cursor_drop(cursor); /* in doubt, or it is not known what went wrong */
    }
    pawli_look_done(&run.look);
    if (st == PAWL_OK && ret_acked)
        *ret_acked = acked;
    return st;
}
