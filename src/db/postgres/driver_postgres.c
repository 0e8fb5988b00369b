/* src/db/postgres/driver_postgres.c - the PostgreSQL engine's table. */
#include "conn_postgres.h"
#include "bounds.h"

static const pawli_driver driver = {
    .name = "postgres",
    .single_writer = false,
    /* A value is at most 1 GiB, in memory and on the wire; leave room for the rest of the row. */
    .max_payload_bytes = PAWLI_PAYLOAD_MAX,
    .open = pawli_postgres_open,
    .close = pawli_postgres_close,
    .alive = pawli_postgres_alive,
    .run = pawli_postgres_run,
    .begin = pawli_postgres_begin,
    .commit = pawli_postgres_commit,
    .rollback = pawli_postgres_rollback,
    .expose = pawli_postgres_lend,
    .unexpose = pawli_postgres_take_back,
    .native = pawli_postgres_native,
    .script = pawli_postgres_schema_script,
    .ask = pawli_postgres_schema_ask,
    .schema = pawli_postgres_schema,
    .schema_lock = pawli_postgres_schema_lock,
    .foreign_tx = pawli_postgres_wrap,
    .tx_open = pawli_postgres_wrapped_open,
    .interrupt = pawli_postgres_interrupt,
    .registers_idle_workers = true,
    .listener_open = pawli_postgres_listener_open,
    .listener_close = pawli_postgres_listener_close,
    .listener_read = pawli_postgres_listener_hear,
};

const pawli_driver *const pawli_driver_postgres = &driver;
