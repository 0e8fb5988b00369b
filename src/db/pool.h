/* src/db/pool.h - a pool of connections shared by threads. */
#ifndef PAWLI_POOL_H
#define PAWLI_POOL_H

#include <stdint.h>

#include <pawl/clock.h>
#include <pawl/error.h>

#include "driver.h"

typedef struct pawli_pool pawli_pool;

/* `settings` is borrowed. Connections are opened when first needed, at most `max`. */
pawl_status pawli_pool_new(const pawli_db_settings *settings, pawli_use use, int max,
                           pawli_pool **ret_pool, pawl_error *err);
/* Every connection must have been given back. NULL is allowed. */
void pawli_pool_free(pawli_pool *pool);

/*
 * Acquires a connection for exclusive use, by `deadline`: PAWL_E_BUSY when all are in use until
 * then. `interrupts_seen` is the value of pawli_pool_interrupts() when the caller's operation
 * began; PAWL_E_INTERRUPTED if pawli_pool_interrupt() was called since.
 */
pawl_status pawli_pool_acquire(pawli_pool *pool, uint64_t interrupts_seen, pawl_mono deadline,
                               pawli_conn **ret_conn, pawl_error *err);
void pawli_pool_give_back(pawli_pool *pool, pawli_conn *conn);

uint64_t pawli_pool_interrupts(pawli_pool *pool);
/* How many connections were ever opened. */
uint64_t pawli_pool_opened(pawli_pool *pool);
/* Ends all running and waiting calls. Any thread. */
void pawli_pool_interrupt(pawli_pool *pool);

#endif
