/* src/db/owned_tx.c - a transaction of pawl's own that stays open between calls. */
#include "owned_tx.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "db_private.h"
#include "fail.h"
#include "platform.h"
#include "open_tx.h"

#define BEGIN_TRIES 3 /* on connections that turn out to be lost */

typedef enum owned_tx_state {
    OWNED_TX_OPEN,
    OWNED_TX_LATE, /* rolled back because it exceeded its time limit */
    OWNED_TX_ENDED /* the connection is back in its pool */
} owned_tx_state;

struct pawli_owned_tx {
    pawli_exclusive_writer writer; /* first */
    pawli_db *db;
    pawli_conn *conn;
    pthread_mutex_t lock; /* guards the state; held while pawl works with the connection */
    owned_tx_state state;
    bool limited;              /* other writers wait for it */
    pawli_open_tx *remembered; /* NULL if other calls of this thread do not wait for it */
};

/* ---- rollback by a thread that waits for the write lock; group.c decides when ---- */

/*
 * Not while the owner is inside a pawl call: that call ends the transaction itself. Also not if
 * it has ended or was rolled back already: until leave_group(), the group still has it as its
 * exclusive writer, but its connection is back in the pool, and the owner releases the write lock
 * itself.
 */
static bool owned_tx_may_roll_back(pawli_exclusive_writer *writer)
{
    pawli_owned_tx *tx = (pawli_owned_tx *)writer;

    if (pthread_mutex_trylock(&tx->lock) != 0)
        return false;
    if (tx->state == OWNED_TX_OPEN)
        return true; /* owned_tx_roll_back_late() follows and unlocks */
    pthread_mutex_unlock(&tx->lock);
    return false;
}

/* The owner may continue to use the handle, so the connection stays with it. */
static void owned_tx_roll_back_late(pawli_exclusive_writer *writer)
{
    pawli_owned_tx *tx = (pawli_owned_tx *)writer;

    tx->conn->driver->rollback(tx->conn);
    tx->state = OWNED_TX_LATE;
    pthread_mutex_unlock(&tx->lock);
}

/* ---- the owner ---- */

/* No other thread accesses the transaction from here on. The lock is held. */
static void owned_tx_give_back(pawli_owned_tx *tx)
{
    pawli_open_tx_forget(tx->remembered);
    tx->remembered = NULL;
    tx->conn->driver->unexpose(tx->conn);
    pawli_pool_give_back(tx->db->exclusive, tx->conn);
    tx->conn = NULL;
    tx->state = OWNED_TX_ENDED;
}

/* Called without the lock, because other threads wait for it. No-op if the write lock was taken
 * back. */
static void leave_group(pawli_owned_tx *tx)
{
    if (tx->limited)
        pawli_group_leave(tx->db->group, &tx->writer);
}

static pawl_status too_late(pawl_error *err)
{
    return pawli_fail(err, PAWL_E_TIMEOUT,
                      "the transaction was rolled back after %d ms, because all other writers "
                      "wait for it: do slow work before it begins",
                      (int)(PAWLI_OWNED_TX_MAX_US / 1000));
}

/* Whether the transaction is still usable. The lock is held. */
static pawl_status owned_tx_check_open(pawli_owned_tx *tx, pawl_error *err)
{
    pawl_status st = pawli_db_check_process(tx->db, err);

    if (st != PAWL_OK)
        return st;
    if (tx->state == OWNED_TX_ENDED)
        return pawli_fail(err, PAWL_E_MISUSE, "the transaction has ended: begin another one");
    if (tx->state == OWNED_TX_OPEN && tx->limited && pawli_mono_passed(tx->writer.until)) {
        tx->conn->driver->rollback(tx->conn);
        tx->state = OWNED_TX_LATE;
    }
    if (tx->state == OWNED_TX_LATE)
        return too_late(err);
    if (!tx->conn->driver->tx_open(tx->conn))
        return pawli_fail(err, PAWL_E_TX_RESTART,
                          "the transaction is no longer open, because one of its statements failed "
                          "or ended it: begin again, and let pawl end it");
    return PAWL_OK;
}

static pawl_mono call_deadline(const pawli_owned_tx *tx)
{
    pawl_mono deadline = pawli_db_deadline(tx->db);

    return tx->limited && tx->writer.until.us < deadline.us ? tx->writer.until : deadline;
}

pawl_status pawli_owned_tx_run(pawli_owned_tx *tx, const pawli_op *op, pawl_error *err)
{
    pthread_mutex_lock(&tx->lock);
    pawl_status st = owned_tx_check_open(tx, err);
    if (st == PAWL_OK) {
        pawli_op_start(op);
        st = tx->conn->driver->run(tx->conn, op, call_deadline(tx), err);
    }
    bool late = tx->state == OWNED_TX_LATE;
    pthread_mutex_unlock(&tx->lock);
    if (late)
        leave_group(tx);
    return st;
}

pawl_status pawli_owned_tx_commit(pawli_owned_tx *tx, pawl_error *err)
{
    pthread_mutex_lock(&tx->lock);
    pawl_status st = owned_tx_check_open(tx, err);
    if (tx->state == OWNED_TX_ENDED) {
        pthread_mutex_unlock(&tx->lock);
        return st;
    }
    if (st == PAWL_OK && atomic_load(&tx->conn->stop))
        st = pawli_fail(err, PAWL_E_INTERRUPTED, "interrupted before the commit");
    if (st == PAWL_OK)
        st = tx->conn->driver->commit(tx->conn, pawli_db_deadline(tx->db), err);
    else if (tx->state == OWNED_TX_OPEN)
        tx->conn->driver->rollback(tx->conn);
    owned_tx_give_back(tx);
    pthread_mutex_unlock(&tx->lock);
    leave_group(tx);
    return st;
}

void pawli_owned_tx_rollback(pawli_owned_tx *tx)
{
    /* In a child process the transaction belongs to the parent. */
    if (!tx || pawli_db_check_process(tx->db, NULL) != PAWL_OK)
        return;
    pthread_mutex_lock(&tx->lock);
    bool ends = tx->state != OWNED_TX_ENDED;
    if (tx->state == OWNED_TX_OPEN)
        tx->conn->driver->rollback(tx->conn);
    if (ends)
        owned_tx_give_back(tx);
    pthread_mutex_unlock(&tx->lock);
    if (ends)
        leave_group(tx);
}

void *pawli_owned_tx_native(pawli_owned_tx *tx, const char *engine)
{
    pthread_mutex_lock(&tx->lock);
    void *native = NULL;
    if (tx->state != OWNED_TX_ENDED && strcmp(engine, tx->db->engine->name) == 0)
        native = tx->conn->driver->native(tx->conn);
    pthread_mutex_unlock(&tx->lock);
    return native;
}

void pawli_owned_tx_free(pawli_owned_tx *tx)
{
    if (!tx)
        return;
    pawli_owned_tx_rollback(tx);
    pthread_mutex_destroy(&tx->lock);
    free(tx);
}

/* ---- begin ---- */

/* Acquires a connection and begins a transaction on it. */
static pawl_status owned_tx_begin(pawli_owned_tx *tx, uint64_t interrupts_seen, pawl_mono deadline,
                                  pawl_error *err)
{
    pawli_db *db = tx->db;
    pawl_status st = PAWL_E_UNAVAILABLE;

    for (int tries = 0; st == PAWL_E_UNAVAILABLE && tries < BEGIN_TRIES; tries++) {
        st = pawli_pool_acquire(db->exclusive, interrupts_seen, deadline, &tx->conn, err);
        if (st != PAWL_OK)
            return st;
        st = tx->conn->driver->begin(tx->conn, deadline, err);
        if (st == PAWL_OK)
            return PAWL_OK;
        pawli_pool_give_back(db->exclusive, tx->conn);
        tx->conn = NULL;
    }
    return st;
}

static pawl_status owned_tx_remember(pawli_owned_tx *tx, pawl_error *err)
{
    pawli_db *db = tx->db;

    if (!db->settings.driver->single_writer)
        return PAWL_OK;
    tx->remembered = pawli_open_tx_remember(tx->conn, db, db->target);
    return tx->remembered ? PAWL_OK
                          : pawli_fail(err, PAWL_E_NOMEM, "out of memory for the transaction");
}

/* Begins the transaction; the caller has the write lock. */
static pawl_status begin_with_write_lock(pawli_owned_tx *tx, uint64_t interrupts_seen,
                                         pawl_mono deadline, pawl_error *err)
{
    pawl_status st = owned_tx_begin(tx, interrupts_seen, deadline, err);

    if (st == PAWL_OK)
        st = owned_tx_remember(tx, err);
    if (st != PAWL_OK) {
        if (tx->conn) {
            tx->conn->driver->rollback(tx->conn);
            pawli_pool_give_back(tx->db->exclusive, tx->conn);
        }
        return st;
    }
    tx->writer.until = pawli_mono_after(pawli_mono_now(), PAWLI_OWNED_TX_MAX_US);
    tx->conn->driver->expose(tx->conn, tx->writer.until);
    tx->state = OWNED_TX_OPEN;
    return PAWL_OK;
}

static pawl_status wait_and_begin(pawli_owned_tx *tx, pawl_error *err)
{
    pawli_db *db = tx->db;
    pawl_mono deadline = pawli_db_deadline(db);
    uint64_t interrupts_seen = pawli_pool_interrupts(db->exclusive);
    pawl_status st;

    if (!db->group)
        return begin_with_write_lock(tx, interrupts_seen, deadline, err);
    st = pawli_group_enter(db->group, pawli_pool_interrupts(db->writers), deadline, err);
    if (st != PAWL_OK)
        return st;
    st = begin_with_write_lock(tx, interrupts_seen, deadline, err);
    if (st == PAWL_OK) {
        tx->limited = true;
        /* The only connection of the store cannot be left with a late owner. */
        if (db->exclusive == db->writers)
            tx->writer.may_roll_back = NULL;
        pawli_group_grant(db->group, &tx->writer);
    } else {
        pawli_group_leave(db->group, NULL);
    }
    return st;
}

pawl_status pawli_db_begin_owned_tx(pawli_db *db, pawli_owned_tx **ret_tx, pawl_error *err)
{
    pawl_status st = pawli_db_check_process(db, err);

    if (st == PAWL_OK)
        st = pawli_db_check_thread(db, err);
    if (st != PAWL_OK)
        return st;
    pawli_owned_tx *tx = calloc(1, sizeof *tx);
    if (!tx)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the transaction");
    tx->writer.may_roll_back = owned_tx_may_roll_back;
    tx->writer.roll_back_late = owned_tx_roll_back_late;
    tx->db = db;
    tx->state = OWNED_TX_ENDED;
    pthread_mutex_init(&tx->lock, NULL);
    st = wait_and_begin(tx, err);
    if (st != PAWL_OK) {
        pawli_owned_tx_free(tx);
        return st;
    }
    *ret_tx = tx;
    return PAWL_OK;
}
