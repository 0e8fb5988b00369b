/* src/core/tx.c - a transaction that the application works in, too. */
#include <pawl/tx.h>

#include <stdlib.h>

#include "fail.h"
#include "store_private.h"
#include "tx_private.h"

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

pawl_status pawl_tx_wrap_sqlite(pawl_store *store, struct sqlite3 *handle, pawl_tx **ret_tx,
                                pawl_error *err)
{
    return tx_foreign(store, "sqlite", handle, ret_tx, err);
}

pawl_status pawl_tx_wrap_postgres(pawl_store *store, struct pg_conn *handle, pawl_tx **ret_tx,
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
