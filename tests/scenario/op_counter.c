/* tests/scenario/op_counter.c - which ops a store runs, and how often. */
#include "op_counter.h"

#include <stdatomic.h>
#include <stdint.h>

#include "db_private.h"
#include "platform.h"
#include "store_private.h"
#include "test.h"

#define SECOND_US INT64_C(1000000)

static const pawli_driver *counted; /* the engine's own */
static pawli_driver counting;
static atomic_int counts[PAWLI_SQL_COUNT];

static pawl_status count_and_run(pawli_conn *conn, const pawli_op *op, pawl_mono deadline,
                                 pawl_error *err)
{
    for (const pawli_op *at = op; at; at = at->next)
        atomic_fetch_add(&counts[at->sql], 1);
    return counted->run(conn, op, deadline, err);
}

/* A writer that is opened later is not counted: each pool has one connection so far. */
void op_counter_start(pawl_store *store)
{
    pawli_db *db = store->db;
    pawl_error err = PAWL_ERROR_INIT;
    pawli_conn *writer = NULL;

    for (int i = 0; i < PAWLI_SQL_COUNT; i++)
        atomic_store(&counts[i], 0);
    if (db->settings.driver == &counting)
        return;
    counted = db->settings.driver;
    counting = *counted;
    counting.run = count_and_run;
    db->settings.driver = &counting;
    assert_ok(pawli_pool_acquire(db->writers, pawli_pool_interrupts(db->writers),
                                 pawli_mono_after(pawli_mono_now(), SECOND_US), &writer, &err),
              &err);
    writer->driver = &counting;
    pawli_pool_give_back(db->writers, writer);
}

int op_counter_of(enum pawli_sql sql)
{
    return atomic_load(&counts[sql]);
}

int op_counter_total(void)
{
    int total = 0;

    for (int i = 0; i < PAWLI_SQL_COUNT; i++)
        total += op_counter_of((enum pawli_sql)i);
    return total;
}
