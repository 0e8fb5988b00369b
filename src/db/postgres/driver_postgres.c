/* src/db/postgres/driver_postgres.c - the PostgreSQL engine's table. */
#include "conn_postgres.h"
#include "bounds.h"

static const pawli_driver driver = {
    .name = "postgres",
    .single_writer = false,
    /* A value is at most 1 GiB, in memory and on the wire; leave room for the rest of the row. */
    .max_payload_bytes = PAWLI_PAYLOAD_MOST,
    .open = pawli_postgres_open,
    .close = pawli_postgres_close,
    .alive = pawli_postgres_alive,
    .run = pawli_postgres_run,
    .begin = pawli_postgres_begin,
    .commit = pawli_postgres_commit,
    .rollback = pawli_postgres_rollback,
    .lend = pawli_postgres_lend,
    .take_back = pawli_postgres_take_back,
    .native = pawli_postgres_native,
    .script = pawli_postgres_schema_script,
    .ask = pawli_postgres_schema_ask,
    .schema = pawli_postgres_schema,
    .schema_lock = pawli_postgres_schema_lock,
    .wrap = pawli_postgres_wrap,
    .wrapped_open = pawli_postgres_wrapped_open,
    .interrupt = pawli_postgres_interrupt,
    .keeps_sleepers = true,
    .ear_open = pawli_postgres_ear_open,
    .ear_close = pawli_postgres_ear_close,
    .ear_hear = pawli_postgres_ear_hear,
};

const pawli_driver *const pawli_driver_postgres = &driver;
