/* src/db/hold.c - a transaction of pawl's own that stays open between calls. */
#include "hold.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "db_private.h"
#include "fail.h"
#include "world.h"
#include "wrapped.h"

#define BEGIN_TRIES 3 /* on connections that turn out to be lost */

typedef enum hold_state {
    HOLD_OPEN,
    HOLD_LATE, /* rolled back, because it took too long */
    HOLD_ENDED /* the connection is back in its pool */
} hold_state;

struct pawli_hold {
    pawli_tenant tenant; /* first */
    pawli_db *db;
    pawli_conn *conn;
    pthread_mutex_t lock; /* guards the state; held while pawl works with the connection */
    hold_state state;
    bool limited;              /* other writers wait for it */
    pawli_wrapped *remembered; /* NULL if plain calls of this thread do not wait for it */
};

/* ---- eviction: by a thread that waits for its turn; group.c says when ---- */

/*
 * Not while the owner is inside a call of pawl: then that call ends it. And not if it has ended or
 * was rolled back already: between that and leave_turn() the group still knows it as a tenant, but
 * its connection is gone, and the owner hands the turn on itself.
 */
static bool hold_may_evict(pawli_tenant *tenant)
{
    pawli_hold *hold = (pawli_hold *)tenant;

    if (pthread_mutex_trylock(&hold->lock) != 0)
        return false;
    if (hold->state == HOLD_OPEN)
        return true; /* hold_evict() comes next, and unlocks */
    pthread_mutex_unlock(&hold->lock);
    return false;
}

/* The owner may go on to use the handle, so the connection stays with it. */
static void hold_evict(pawli_tenant *tenant)
{
    pawli_hold *hold = (pawli_hold *)tenant;

    hold->conn->driver->rollback(hold->conn);
    hold->state = HOLD_LATE;
    pthread_mutex_unlock(&hold->lock);
}

/* ---- the owner ---- */

/* Nobody else touches the transaction from here on. The lock is held. */
static void give_back(pawli_hold *hold)
{
    pawli_wrapped_forget(hold->remembered);
    hold->remembered = NULL;
    hold->conn->driver->take_back(hold->conn);
    pawli_pool_give_back(hold->db->holders, hold->conn);
    hold->conn = NULL;
    hold->state = HOLD_ENDED;
}

/* Without the lock: others are waiting for it. Nothing happens if it was taken back. */
static void leave_turn(pawli_hold *hold)
{
    if (hold->limited)
        pawli_group_leave(hold->db->group, &hold->tenant);
}

static pawl_status too_late(pawl_error *err)
{
    return pawli_fail(err, PAWL_E_TIMEOUT,
                      "the transaction was open for more than %d ms, while all other writers "
                      "waited, and was rolled back: do the slow work before it begins",
                      (int)(PAWLI_HOLD_MAX_US / 1000));
}

/* Whether the transaction may still be used. The lock is held. */
static pawl_status check_open(pawli_hold *hold, pawl_error *err)
{
    pawl_status st = pawli_db_check_process(hold->db, err);

    if (st != PAWL_OK)
        return st;
    if (hold->state == HOLD_ENDED)
        return pawli_fail(err, PAWL_E_MISUSE, "the transaction has ended: begin another one");
    if (hold->state == HOLD_OPEN && hold->limited && pawli_mono_passed(hold->tenant.until)) {
        hold->conn->driver->rollback(hold->conn);
        hold->state = HOLD_LATE;
    }
    if (hold->state == HOLD_LATE)
        return too_late(err);
    if (!hold->conn->driver->wrapped_open(hold->conn))
        return pawli_fail(err, PAWL_E_TX_RESTART,
                          "the transaction is not open any more, because a statement of it failed "
                          "or ended it: begin again, and leave its end to pawl");
    return PAWL_OK;
}

static pawl_mono call_deadline(const pawli_hold *hold)
{
    pawl_mono deadline = pawli_db_deadline(hold->db);

    return hold->limited && hold->tenant.until.us < deadline.us ? hold->tenant.until : deadline;
}

pawl_status pawli_hold_run(pawli_hold *hold, const pawli_op *op, pawl_error *err)
{
    pthread_mutex_lock(&hold->lock);
    pawl_status st = check_open(hold, err);
    if (st == PAWL_OK) {
        if (op->on_start)
            op->on_start(op->context);
        st = hold->conn->driver->run(hold->conn, op, call_deadline(hold), err);
    }
    bool late = hold->state == HOLD_LATE;
    pthread_mutex_unlock(&hold->lock);
    if (late)
        leave_turn(hold);
    return st;
}

pawl_status pawli_hold_commit(pawli_hold *hold, pawl_error *err)
{
    pthread_mutex_lock(&hold->lock);
    pawl_status st = check_open(hold, err);
    if (hold->state == HOLD_ENDED) {
        pthread_mutex_unlock(&hold->lock);
        return st;
    }
    if (st == PAWL_OK && atomic_load(&hold->conn->stop))
        st = pawli_fail(err, PAWL_E_INTERRUPTED, "interrupted before the commit");
    if (st == PAWL_OK)
        st = hold->conn->driver->commit(hold->conn, pawli_db_deadline(hold->db), err);
    else if (hold->state == HOLD_OPEN)
        hold->conn->driver->rollback(hold->conn);
    give_back(hold);
    pthread_mutex_unlock(&hold->lock);
    leave_turn(hold);
    return st;
}

void pawli_hold_rollback(pawli_hold *hold)
{
    /* In a child process the transaction is the parent's. */
    if (!hold || pawli_db_check_process(hold->db, NULL) != PAWL_OK)
        return;
    pthread_mutex_lock(&hold->lock);
    bool ends = hold->state != HOLD_ENDED;
    if (hold->state == HOLD_OPEN)
        hold->conn->driver->rollback(hold->conn);
    if (ends)
        give_back(hold);
    pthread_mutex_unlock(&hold->lock);
    if (ends)
        leave_turn(hold);
}

void *pawli_hold_native(pawli_hold *hold, const char *engine)
{
    pthread_mutex_lock(&hold->lock);
    void *native = NULL;
    if (hold->state != HOLD_ENDED && strcmp(engine, hold->db->engine->name) == 0)
        native = hold->conn->driver->native(hold->conn);
    pthread_mutex_unlock(&hold->lock);
    return native;
}

void pawli_hold_free(pawli_hold *hold)
{
    if (!hold)
        return;
    pawli_hold_rollback(hold);
    pthread_mutex_destroy(&hold->lock);
    free(hold);
}

/* ---- the beginning ---- */

/* A connection, lent to the application, with a transaction open on it. */
static pawl_status begin(pawli_hold *hold, uint64_t turn, pawl_mono deadline, pawl_error *err)
{
    pawli_db *db = hold->db;
    pawl_status st = PAWL_E_UNAVAILABLE;

    for (int tries = 0; st == PAWL_E_UNAVAILABLE && tries < BEGIN_TRIES; tries++) {
        st = pawli_pool_acquire(db->holders, turn, deadline, &hold->conn, err);
        if (st != PAWL_OK)
            return st;
        st = hold->conn->driver->begin(hold->conn, deadline, err);
        if (st == PAWL_OK)
            return PAWL_OK;
        pawli_pool_give_back(db->holders, hold->conn);
        hold->conn = NULL;
    }
    return st;
}

static pawl_status remember(pawli_hold *hold, pawl_error *err)
{
    pawli_db *db = hold->db;

    if (!db->settings.driver->single_writer)
        return PAWL_OK;
    hold->remembered = pawli_wrapped_remember(hold->conn, db, db->target);
    return hold->remembered ? PAWL_OK
                            : pawli_fail(err, PAWL_E_NOMEM, "out of memory for the transaction");
}

/* The turn of the single writer is the caller's now. */
static pawl_status begin_in_turn(pawli_hold *hold, uint64_t turn, pawl_mono deadline,
                                 pawl_error *err)
{
    pawl_status st = begin(hold, turn, deadline, err);

    if (st == PAWL_OK)
        st = remember(hold, err);
    if (st != PAWL_OK) {
        if (hold->conn) {
            hold->conn->driver->rollback(hold->conn);
            pawli_pool_give_back(hold->db->holders, hold->conn);
        }
        return st;
    }
    hold->tenant.until = pawli_mono_after(pawli_mono_now(), PAWLI_HOLD_MAX_US);
    hold->conn->driver->lend(hold->conn, hold->tenant.until);
    hold->state = HOLD_OPEN;
    return PAWL_OK;
}

static pawl_status begin_when_allowed(pawli_hold *hold, pawl_error *err)
{
    pawli_db *db = hold->db;
    pawl_mono deadline = pawli_db_deadline(db);
    uint64_t turn = pawli_pool_turn(db->holders);
    pawl_status st;

    if (!db->group)
        return begin_in_turn(hold, turn, deadline, err);
    st = pawli_group_enter(db->group, pawli_pool_turn(db->writers), deadline, err);
    if (st != PAWL_OK)
        return st;
    st = begin_in_turn(hold, turn, deadline, err);
    if (st == PAWL_OK) {
        hold->limited = true;
        /* A connection that everybody needs cannot be left with a late owner. */
        if (db->holders == db->writers)
            hold->tenant.may_evict = NULL;
        pawli_group_settle(db->group, &hold->tenant);
    } else {
        pawli_group_leave(db->group, NULL);
    }
    return st;
}

pawl_status pawli_db_hold(pawli_db *db, pawli_hold **ret_hold, pawl_error *err)
{
    pawl_status st = pawli_db_check_process(db, err);

    if (st == PAWL_OK)
        st = pawli_db_check_thread(db, err);
    if (st != PAWL_OK)
        return st;
    pawli_hold *hold = calloc(1, sizeof *hold);
    if (!hold)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the transaction");
    hold->tenant.may_evict = hold_may_evict;
    hold->tenant.evict = hold_evict;
    hold->db = db;
    hold->state = HOLD_ENDED;
    pthread_mutex_init(&hold->lock, NULL);
    st = begin_when_allowed(hold, err);
    if (st != PAWL_OK) {
        pawli_hold_free(hold);
        return st;
    }
    *ret_hold = hold;
    return PAWL_OK;
}
