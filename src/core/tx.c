/* src/core/tx.c - transactions: the application's, and owned ones that acknowledge a message. */
#include <pawl/tx.h>

#include <stdlib.h>

#include "batch_update.h"
#include "fail.h"
#include "store_private.h"
#include "tx_private.h"

/* ---- foreign transactions: begun by the application ---- */

static pawl_status tx_foreign(pawl_store *store, const char *engine, void *handle, pawl_tx **ret_tx,
                              pawl_error *err)
{
    pawl_tx *tx;
    pawl_status st;

    if (!store || !handle || !ret_tx)
        return pawli_fail(err, PAWL_E_INVALID, "store, handle and ret_tx must not be NULL");
    tx = calloc(1, sizeof *tx);
    if (!tx)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the transaction");
    tx->store = store;
    st = pawli_db_wrap(store->db, engine, handle, &tx->foreign, err);
    if (st != PAWL_OK) {
        free(tx);
        return st;
    }
    *ret_tx = tx;
    return PAWL_OK;
}

pawl_status pawl_tx_foreign_sqlite(pawl_store *store, struct sqlite3 *handle, pawl_tx **ret_tx,
                                   pawl_error *err)
{
    return tx_foreign(store, "sqlite", handle, ret_tx, err);
}

pawl_status pawl_tx_foreign_postgres(pawl_store *store, struct pg_conn *handle, pawl_tx **ret_tx,
                                     pawl_error *err)
{
    return tx_foreign(store, "postgres", handle, ret_tx, err);
}

void pawl_tx_committed(pawl_tx *tx)
{
    if (!tx)
        return;
    pawli_store_changed(tx->store);
    pawli_wake_signal(pawli_db_wake(tx->store->db));
}

pawl_status pawli_tx_run(pawl_tx *tx, const pawli_op *op, pawl_error *err)
{
    return tx->owned ? pawli_owned_tx_run(tx->owned, op, err)
                     : pawli_foreign_tx_run(tx->foreign, op, err);
}

static void *tx_native(pawl_tx *tx, const char *engine)
{
    if (!tx)
        return NULL;
    return tx->owned ? pawli_owned_tx_native(tx->owned, engine)
                     : pawli_foreign_tx_native(tx->foreign, engine);
}

struct sqlite3 *pawl_tx_sqlite(pawl_tx *tx)
{
    return tx_native(tx, "sqlite");
}

struct pg_conn *pawl_tx_postgres(pawl_tx *tx)
{
    return tx_native(tx, "postgres");
}

void pawl_tx_free(pawl_tx *tx)
{
    if (!tx)
        return;
    pawli_foreign_tx_free(tx->foreign);
    pawli_owned_tx_free(tx->owned);
    pawli_output_done(&tx->output);
    free(tx);
}

/* ---- owned transactions: acknowledge a message in the same commit as its effects ---- */

pawl_status pawl_tx_begin_for(pawl_store *store, pawl_owner owner, pawl_receipt item,
                              pawl_tx **ret_tx, pawl_error *err)
{
    if (!store || !ret_tx)
        return pawli_fail(err, PAWL_E_INVALID, "store and ret_tx must not be NULL");
    if (pawl_owner_is_zero(owner) || item.id.value <= 0 || item.fence <= 0)
        return pawli_fail(err, PAWL_E_INVALID,
                          "owner, id and fence must be those of a claimed message");
    pawl_tx *tx = calloc(1, sizeof *tx);
    if (!tx)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the transaction");
    tx->store = store;
    tx->owner = owner;
    tx->item = item;
    pawl_status st = pawli_db_begin_owned_tx(store->db, &tx->owned, err);
    if (st != PAWL_OK) {
        free(tx);
        return st;
    }
    *ret_tx = tx;
    return PAWL_OK;
}

pawl_status pawl_tx_output(pawl_tx *tx, const void *output, size_t output_size, pawl_error *err)
{
    pawli_output copy;

    if (!tx)
        return pawli_fail(err, PAWL_E_INVALID, "the transaction must not be NULL");
    if (!tx->owned || tx->item.fence == 0)
        return pawli_fail(err, PAWL_E_MISUSE,
                          "only a transaction of pawl_tx_begin_for() acknowledges a message and "
                          "can store an output");
    pawl_status st = pawli_output_copy(output, output_size, &copy, err);
    if (st != PAWL_OK)
        return st;
    pawli_output_done(&tx->output);
    tx->output = copy;
    return PAWL_OK;
}

/* The fence decides, under the row lock, in the same transaction as all other writes. */
static pawl_status message_tx_acknowledge(pawl_tx *tx, pawl_error *err)
{
    pawli_param params[] = {{"owner", pawli_uuid(tx->owner.bytes)}};
    pawli_value values[PAWLI_OUTPUT_COLUMNS];
    pawli_rows rows = pawli_output_rows(tx->item, tx->output.data, tx->output.size, values);
    size_t changed = 0;
    pawli_op op = {
        .sql = PAWLI_SQL_ACK,
        .writes = true,
        .params = params,
        .param_count = PAWLI_COUNT(params),
        .rows = &rows,
        .on_row = pawli_count_on_row,
        .on_start = pawli_count_on_start,
        .context = &changed,
    };

    if (tx->output.data)
        op.sql = PAWLI_SQL_ACK_OUTPUT;
    else
        rows.column_count--; /* the output is the last column */
    pawl_status st = pawli_tx_run(tx, &op, err);
    if (st == PAWL_OK && changed != 1)
        st = pawli_fail(err, PAWL_E_LOST,
                        "message %lld is no longer leased under this fence: its lease expired or "
                        "it was cancelled; the transaction was rolled back",
                        (long long)tx->item.id.value);
    return st;
}

pawl_status pawl_tx_commit_with_ack(pawl_tx *tx, pawl_error *err)
{
    if (!tx)
        return pawli_fail(err, PAWL_E_INVALID, "the transaction must not be NULL");
    if (!tx->owned)
        return pawli_fail(err, PAWL_E_MISUSE,
                          "the application began this transaction and must end it: only "
                          "transactions of pawl_tx_begin_for() are committed here");
    if (tx->item.fence == 0)
        return pawli_fail(
            err, PAWL_E_MISUSE,
            "this transaction belongs to an inbox delivery: end it with pawl_inbox_task_done()");
    pawl_status st = message_tx_acknowledge(tx, err);
    /* Inside the transaction nothing is committed yet, so a lost reply leaves no doubt. */
    if (st == PAWL_E_IN_DOUBT)
        st = pawli_fail(err, PAWL_E_NOMEM, "out of memory; the transaction was rolled back");
    if (st != PAWL_OK) {
        pawli_owned_tx_rollback(tx->owned);
        return st;
    }
    st = pawli_owned_tx_commit(tx->owned, err);
    pawli_store_changed(tx->store);
    if (st == PAWL_OK || st == PAWL_E_IN_DOUBT)
        pawli_wake_signal(pawli_db_wake(tx->store->db));
    return st;
}

void pawl_tx_rollback(pawl_tx *tx)
{
    if (tx && tx->owned)
        pawli_owned_tx_rollback(tx->owned);
}
