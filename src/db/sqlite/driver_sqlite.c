/* src/db/sqlite/driver_sqlite.c - the SQLite driver's table. */
#include "conn_sqlite.h"
#include "bounds.h"

/* There is no server that could go away; a moved or damaged file shows at the next statement. */
static bool sqlite_alive(pawli_conn *base)
{
    (void)base;
    return true;
}

static const pawli_driver driver = {
    .name = "sqlite",
    .single_writer = true,
    .max_payload_bytes = PAWLI_PAYLOAD_MAX,
    .open = pawli_sqlite_open,
    .close = pawli_sqlite_close,
    .alive = sqlite_alive,
    .run = pawli_sqlite_run,
    .begin = pawli_sqlite_begin,
    .commit = pawli_sqlite_commit,
    .rollback = pawli_sqlite_rollback,
    .expose = pawli_sqlite_lend,
    .unexpose = pawli_sqlite_take_back,
    .native = pawli_sqlite_native,
    .script = pawli_sqlite_schema_script,
    .schema = pawli_sqlite_schema,
    .schema_lock = pawli_sqlite_schema_lock,
    .foreign_tx = pawli_sqlite_wrap,
    .tx_open = pawli_sqlite_wrapped_open,
    .interrupt = pawli_sqlite_interrupt,
    .registers_idle_workers = false,
    .listener_open = pawli_sqlite_listener_open,
    .listener_close = pawli_sqlite_listener_close,
    .listener_read = pawli_sqlite_listener_hear,
    .checkpoint = pawli_sqlite_checkpoint,
};

const pawli_driver *const pawli_driver_sqlite = &driver;
