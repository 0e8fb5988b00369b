/* src/db/foreign_tx.c - running ops inside a transaction that the application opened. */
#include <stdlib.h>
#include <string.h>

#include "db_private.h"
#include "fail.h"
#include "open_tx.h"

struct pawli_foreign_tx {
    pawli_db *db;
    pawli_conn *conn;
    pawli_open_tx *remembered; /* NULL if the engine lets others write meanwhile */
};

pawl_status pawli_db_wrap(pawli_db *db, const char *engine, void *native,
                          pawli_foreign_tx **ret_foreign_tx, pawl_error *err)
{
    pawli_foreign_tx *foreign_tx = NULL;
    pawl_status st = pawli_db_check_process(db, err);

    if (st != PAWL_OK)
        return st;
    if (strcmp(engine, db->engine->name) != 0)
        return pawli_fail(err, PAWL_E_UNSUPPORTED,
                          "the handle is of %s but the store is of %s: wrap a handle of its engine",
                          engine, db->engine->name);
    foreign_tx = calloc(1, sizeof *foreign_tx);
    if (!foreign_tx)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the transaction");
    foreign_tx->db = db;
    st = db->settings.driver->foreign_tx(&db->settings, native, &foreign_tx->conn, err);
    if (st == PAWL_OK && db->settings.driver->single_writer) {
        foreign_tx->remembered = pawli_open_tx_remember(foreign_tx->conn, db, db->target);
        if (!foreign_tx->remembered)
            st = pawli_fail(err, PAWL_E_NOMEM, "out of memory for the transaction");
    }
    if (st != PAWL_OK) {
        pawli_foreign_tx_free(foreign_tx);
        return st;
    }
    *ret_foreign_tx = foreign_tx;
    return PAWL_OK;
}

pawl_status pawli_foreign_tx_run(pawli_foreign_tx *foreign_tx, const pawli_op *op, pawl_error *err)
{
    pawl_status st = pawli_db_check_process(foreign_tx->db, err);

    if (st != PAWL_OK)
        return st;
    if (!foreign_tx->conn->driver->tx_open(foreign_tx->conn))
        return pawli_fail(err, PAWL_E_MISUSE,
                          "the wrapped transaction has ended: begin one and wrap it");
    if (op->on_start)
        op->on_start(op->context);
    return foreign_tx->conn->driver->run(foreign_tx->conn, op, pawli_db_deadline(foreign_tx->db),
                                         err);
}

void *pawli_foreign_tx_native(pawli_foreign_tx *foreign_tx, const char *engine)
{
    const pawli_driver *driver = foreign_tx->conn->driver;

    if (strcmp(engine, driver->name) != 0 || !driver->tx_open(foreign_tx->conn))
        return NULL;
    return driver->native(foreign_tx->conn);
}

void pawli_foreign_tx_free(pawli_foreign_tx *foreign_tx)
{
    if (!foreign_tx)
        return;
    pawli_open_tx_forget(foreign_tx->remembered);
    if (foreign_tx->conn)
        foreign_tx->conn->driver->close(foreign_tx->conn);
    free(foreign_tx);
}
