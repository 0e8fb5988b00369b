/* src/db/wrap.c - running ops inside a transaction that the application opened. */
#include <stdlib.h>
#include <string.h>

#include "db_private.h"
#include "fail.h"
#include "wrapped.h"

struct pawli_wrap {
    pawli_db *db;
    pawli_conn *conn;
    pawli_wrapped *remembered; /* NULL if the engine lets others write meanwhile */
};

pawl_status pawli_db_wrap(pawli_db *db, const char *engine, void *native, pawli_wrap **ret_wrap,
                          pawl_error *err)
{
    pawli_wrap *wrap = NULL;
    pawl_status st = pawli_db_check_process(db, err);

    if (st != PAWL_OK)
        return st;
    if (strcmp(engine, db->engine->name) != 0)
        return pawli_fail(err, PAWL_E_UNSUPPORTED,
                          "the handle is of %s but the store is of %s: wrap a handle of its engine",
                          engine, db->engine->name);
    wrap = calloc(1, sizeof *wrap);
    if (!wrap)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the transaction");
    wrap->db = db;
    st = db->settings.driver->wrap(&db->settings, native, &wrap->conn, err);
    if (st == PAWL_OK && db->settings.driver->single_writer) {
        wrap->remembered = pawli_wrapped_remember(wrap->conn, db, db->target);
        if (!wrap->remembered)
            st = pawli_fail(err, PAWL_E_NOMEM, "out of memory for the transaction");
    }
    if (st != PAWL_OK) {
        pawli_wrap_free(wrap);
        return st;
    }
    *ret_wrap = wrap;
    return PAWL_OK;
}

pawl_status pawli_wrap_run(pawli_wrap *wrap, const pawli_op *op, pawl_error *err)
{
    pawl_status st = pawli_db_check_process(wrap->db, err);

    if (st != PAWL_OK)
        return st;
    if (!wrap->conn->driver->wrapped_open(wrap->conn))
        return pawli_fail(err, PAWL_E_MISUSE,
                          "the wrapped transaction has ended: begin one and wrap it");
    if (op->on_start)
        op->on_start(op->context);
    return wrap->conn->driver->run(wrap->conn, op, pawli_db_deadline(wrap->db), err);
}

void *pawli_wrap_native(pawli_wrap *wrap, const char *engine)
{
    const pawli_driver *driver = wrap->conn->driver;

    if (strcmp(engine, driver->name) != 0 || !driver->wrapped_open(wrap->conn))
        return NULL;
    return driver->native(wrap->conn);
}

void pawli_wrap_free(pawli_wrap *wrap)
{
    if (!wrap)
        return;
    pawli_wrapped_forget(wrap->remembered);
    if (wrap->conn)
        wrap->conn->driver->close(wrap->conn);
    free(wrap);
}
