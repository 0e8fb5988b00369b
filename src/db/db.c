/* src/db/db.c - a database: its connections, its clock state, and running ops on it. */
#include "db.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db_private.h"
#include "fail.h"
#include "log.h"
#include "open_tx.h"
#include "platform.h"
#include "thread_deadline.h"

/* ---- a database: its connections, its statements, and running ops on it ---- */

#define RECONNECTS 3
/* One is in use at a time; the others are held by owners that were rolled back late. */
#define EXCLUSIVE_MAX 64

static const pawl_backoff retry_policy = {5, 500, 20};

static pawl_status db_check_options(const pawl_store_options *opts, pawl_error *err)
{
    if (opts->timeout_ms < 1 || opts->timeout_ms > 3600000)
        return pawli_fail(err, PAWL_E_INVALID, "timeout_ms must be 1 to 3600000");
    if (opts->pool_size < 1 || opts->pool_size > 1000)
        return pawli_fail(err, PAWL_E_INVALID, "pool_size must be 1 to 1000");
    if ((unsigned)opts->prepare > PAWL_PREPARE_OFF)
        return pawli_fail(err, PAWL_E_INVALID, "prepare must be one of PAWL_PREPARE_...");
    if (opts->durability != PAWL_DURABILITY_FULL && opts->durability != PAWL_DURABILITY_NORMAL)
        return pawli_fail(err, PAWL_E_INVALID, "durability must be FULL or NORMAL");
    return PAWL_OK;
}

static pawl_status choose_names(pawli_db *db, const pawl_store_options *opts, pawl_error *err)
{
    const char *names;
    pawl_status st = pawli_engine_names(db->engine, opts, &names, err);

    if (st != PAWL_OK)
        return st;
    db->names = strdup(names);
    return db->names ? PAWL_OK : pawli_fail(err, PAWL_E_NOMEM, "out of memory for the store");
}

static pawl_status make_pools(pawli_db *db, int pool_size, pawl_error *err)
{
    bool single = db->settings.driver->single_writer;
    pawl_status st =
        pawli_pool_new(&db->settings, PAWLI_WRITES, single ? 1 : pool_size, &db->writers, err);

    /* An in-memory database has one connection: a second one would be another database. */
    bool alone = single && strcmp(db->target, PAWLI_MEMORY) == 0;
    if (st == PAWL_OK && single && !alone)
        st = pawli_pool_new(&db->settings, PAWLI_READS, 1, &db->readers, err);
    /* Not from the writers' pool: a lease renewal must never wait for busy handlers. */
    if (st == PAWL_OK && alone)
        db->exclusive = db->writers;
    else if (st == PAWL_OK)
        st = pawli_pool_new(&db->settings, PAWLI_EXCLUSIVE, single ? EXCLUSIVE_MAX : pool_size,
                            &db->exclusive, err);
    if (st == PAWL_OK && single)
        st = pawli_group_new(db->writers, &db->group, err);
    return st;
}

pawl_status pawli_db_new(const char *url, const pawl_store_options *opts, pawli_db **ret_db,
                         pawl_error *err)
{
    PAWLI_AUTO(pawli_db) db = NULL;
    const pawli_engine *engine;
    const char *target;
    pawl_status st = pawli_url_parse(url, &engine, &target, err);

    if (st == PAWL_OK)
        st = db_check_options(opts, err);
    if (st != PAWL_OK)
        return st;
    db = calloc(1, sizeof *db);
    if (!db)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the store");
    pawli_wake_init(&db->wake);
    pawli_clock_init(&db->clock);
    db->pid = getpid();
    db->engine = engine;
    db->timeout_us = opts->timeout_ms * 1000;
    db->log = opts->log;
    db->target = strdup(target);
    if (!db->target)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the store");
    st = choose_names(db, opts, err);
    if (st == PAWL_OK)
        st = pawli_statements_new(engine->sql, db->names, &db->statements, err);
    if (st != PAWL_OK)
        return st;
    db->settings = (pawli_db_settings){
        .driver = *engine->driver,
        .target = db->target,
        .names = db->names,
        .durability = opts->durability,
        .prepare = opts->prepare,
        .create = opts->deploy_schema,
        .statements = db->statements,
        .clock = &db->clock,
    };
    st = make_pools(db, opts->pool_size, err);
    if (st == PAWL_OK && db->settings.driver->scanner_new)
        st = db->settings.driver->scanner_new(db, &db->scanner, err);
    if (st != PAWL_OK)
        return st;
    *ret_db = pawli_db_take(&db);
    return PAWL_OK;
}

void pawli_db_free(pawli_db *db)
{
    if (!db)
        return;
    if (db->scanner)
        db->settings.driver->scanner_free(db->scanner);
    pawli_group_free(db->group);
    pawli_pool_free(db->readers);
    if (db->exclusive != db->writers)
        pawli_pool_free(db->exclusive);
    pawli_pool_free(db->writers);
    pawli_statements_free(db->statements);
    pawli_wake_done(&db->wake);
    pawli_clock_done(&db->clock);
    free(db->names);
    free(db->target);
    free(db);
}

const pawli_driver *pawli_db_driver(const pawli_db *db)
{
    return db->settings.driver;
}

const pawli_engine *pawli_db_engine(const pawli_db *db)
{
    return db->engine;
}

pawli_wake *pawli_db_wake(pawli_db *db)
{
    return &db->wake;
}

uint64_t pawli_db_connections(pawli_db *db)
{
    return pawli_pool_opened(db->writers);
}

pawl_mono pawli_db_deadline(const pawli_db *db)
{
    return pawli_thread_deadline_apply(pawli_mono_after(pawli_mono_now(), db->timeout_us));
}

pawl_status pawli_db_check_process(const pawli_db *db, pawl_error *err)
{
    if (db->pid != getpid())
        return pawli_fail(err, PAWL_E_MISUSE,
                          "this store was opened before fork(): open one in the child");
    return PAWL_OK;
}

pawl_status pawli_db_check_thread(pawli_db *db, pawl_error *err)
{
    if (db->settings.driver->single_writer && pawli_open_tx_blocks(db, db->target))
        return pawli_fail(err, PAWL_E_MISUSE,
                          "this thread has a transaction of its own open on the same %s file: "
                          "use that transaction (pawl_tx_...) or end it first",
                          db->engine->title);
    return PAWL_OK;
}

static pawl_status db_run_once(pawli_db *db, pawli_pool *pool, uint64_t interrupts_seen,
                               const pawli_op *op, pawl_mono deadline, pawl_error *err)
{
    pawli_conn *conn = NULL;
    pawl_status st;

    if (op->writes && db->group)
        return pawli_group_run(db->group, op, interrupts_seen, deadline, err);
    st = pawli_pool_acquire(pool, interrupts_seen, deadline, &conn, err);
    if (st != PAWL_OK)
        return st;
    pawli_op_start(op);
    st = db->settings.driver->run(conn, op, deadline, err);
    pawli_pool_give_back(pool, conn);
    return st;
}

/*
 * Statuses that guarantee that nothing was changed; for an op that resolves, also a rival
 * transaction that is still open, and whatever follows a commit in doubt until the database
 * responds.
 */
static bool is_retryable(const pawli_op *op, pawl_status st, int tries, bool in_doubt)
{
    if (st == PAWL_E_SERIALIZATION || (st == PAWL_E_UNAVAILABLE && tries < RECONNECTS))
        return true;
    if (in_doubt && (st == PAWL_E_IN_DOUBT || st == PAWL_E_UNAVAILABLE))
        return true;
    return op->resolves && st == PAWL_E_BUSY;
}

/* Returns false if the deadline does not leave the time for it. */
static bool db_pause(const pawli_db *db, const pawli_op *op, pawl_status st, int tries,
                     pawl_mono deadline)
{
    int64_t pause_us = 1000 * pawl_backoff_delay_ms(&retry_policy, tries, pawli_random_u64());

    if (pause_us >= pawli_mono_left(deadline))
        return false;
    pawli_log(&db->log, PAWL_LOG_DEBUG, "store", "{statement}: {error}, retrying",
              pawli_logged("store", db->settings.driver->name),
              pawli_logged("statement", pawli_sql_name(op->sql)),
              pawli_logged_number("attempt", tries + 1),
              pawli_logged("error", pawl_status_text(st)));
    pawli_sleep_us(pause_us);
    return true;
}

/* The only loop that repeats an op, with one policy. */
pawl_status pawli_db_run(pawli_db *db, const pawli_op *op, pawl_error *err)
{
    pawl_mono deadline = pawli_db_deadline(db);
    pawli_pool *pool = !op->writes && db->readers ? db->readers : db->writers;
    pawl_status st = pawli_db_check_process(db, err);
    pawli_op current = *op; /* changes after a commit in doubt */
    bool in_doubt = false;

    if (st == PAWL_OK && (current.writes || pool == db->exclusive))
        st = pawli_db_check_thread(db, err);
    if (st != PAWL_OK)
        return st;
    uint64_t interrupts_seen = pawli_pool_interrupts(pool);
    for (int tries = 0;; tries++) {
        st = db_run_once(db, pool, interrupts_seen, &current, deadline, err);
        pawli_clock_log(db);
        if (current.resolves && st == PAWL_E_IN_DOUBT) {
            in_doubt = true;
            current.sql = current.resolve_sql;
            current.merges = false;
        }
        if (!is_retryable(&current, st, tries, in_doubt) ||
            !db_pause(db, &current, st, tries, deadline))
            break;
        if (current.resolves && pawli_pool_interrupts(pool) != interrupts_seen) {
            st = pawli_fail(err, PAWL_E_INTERRUPTED, "interrupted while waiting to retry");
            break;
        }
    }
    if (in_doubt && st != PAWL_OK)
        return pawli_fail(err, PAWL_E_IN_DOUBT,
                          "the result of the commit was lost and the database did not respond "
                          "again: send the same message id again");
    return st;
}

pawl_status pawli_db_scan(pawli_db *db, const pawli_op *ops,
                          bool (*found_nothing)(const void *context), pawl_error *err)
{
    return db->scanner ? db->settings.driver->scan(db->scanner, ops, found_nothing, err)
                       : pawli_db_run(db, ops, err);
}

pawli_scanner *pawli_db_scanner(pawli_db *db)
{
    return db->scanner;
}

void pawli_db_interrupt(pawli_db *db)
{
    if (db->readers)
        pawli_pool_interrupt(db->readers);
    pawli_pool_interrupt(db->writers);
    if (db->exclusive != db->writers)
        pawli_pool_interrupt(db->exclusive);
    if (db->group)
        pawli_group_interrupt(db->group);
    pawli_wake_interrupt(&db->wake);
}

uint64_t pawli_db_interrupts(pawli_db *db)
{
    return pawli_pool_interrupts(db->writers);
}

/* ---- checkpointing while the store is idle ---- */

pawl_status pawli_db_checkpoint(pawli_db *db, pawl_error *err)
{
    const pawli_driver *driver = db->settings.driver;
    pawli_conn *conn = NULL;
    pawl_status st = pawli_db_check_process(db, err);

    if (st != PAWL_OK || !driver->checkpoint)
        return st;
    st = pawli_pool_acquire(db->writers, pawli_pool_interrupts(db->writers), pawli_db_deadline(db),
                            &conn, err);
    if (st != PAWL_OK)
        return st;
    st = driver->checkpoint(conn, err);
    pawli_pool_give_back(db->writers, conn);
    return st;
}

/* ---- logging that the store's clock is ahead of the machine's ---- */

void pawli_clock_init(pawli_clock_memory *clock)
{
    pthread_mutex_init(&clock->lock, NULL);
    clock->resets = -1;
    atomic_init(&clock->ahead_us, 0);
    atomic_init(&clock->logged, false);
}

void pawli_clock_done(pawli_clock_memory *clock)
{
    pthread_mutex_destroy(&clock->lock);
}

void pawli_clock_log(pawli_db *db)
{
    int64_t ahead_us = atomic_load_explicit(&db->clock.ahead_us, memory_order_relaxed);
    bool ahead = ahead_us > 0;

    if (atomic_load_explicit(&db->clock.logged, memory_order_relaxed) == ahead ||
        atomic_exchange(&db->clock.logged, ahead) == ahead)
        return;
    if (ahead)
        pawli_log(
            &db->log, PAWL_LOG_ERROR, "store",
            "the store's clock is {ahead_s} s ahead of this machine's, because the machine's was "
            "ahead before; it now advances with the boot clock; if the machine's clock is "
            "right now, stop all workers and run 'pawl migrate --reset-clock'",
            pawli_logged("store", db->settings.driver->name),
            pawli_logged_number("ahead_s", ahead_us / 1000000));
    else
        pawli_log(&db->log, PAWL_LOG_INFO, "store",
                  "the store's clock matches this machine's again",
                  pawli_logged("store", db->settings.driver->name));
}
