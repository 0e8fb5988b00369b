/* src/db/pool.c - a pool of connections shared by threads. */
#include "pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "cond.h"
#include "fail.h"
#include "platform.h"

struct pawli_pool {
    const pawli_db_settings *settings;
    pawli_use use;
    int max;
    pthread_mutex_t lock;     /* guards everything below */
    pthread_cond_t available; /* a connection or a free slot became available, or an interrupt */
    int open;                 /* idle, busy and being opened */
    uint64_t interrupts_seen; /* counts interrupts */
    uint64_t opened;          /* counts connections */
    pawli_conn *idle;
    pawli_conn *busy;
};

pawl_status pawli_pool_new(const pawli_db_settings *settings, pawli_use use, int max,
                           pawli_pool **ret_pool, pawl_error *err)
{
    pawli_pool *pool = calloc(1, sizeof *pool);

    if (!pool)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the connection pool");
    pool->settings = settings;
    pool->use = use;
    pool->max = max;
    pthread_mutex_init(&pool->lock, NULL);
    pawli_cond_init(&pool->available);
    *ret_pool = pool;
    return PAWL_OK;
}

void pawli_pool_free(pawli_pool *pool)
{
    if (!pool)
        return;
    while (pool->idle) {
        pawli_conn *conn = pool->idle;
        pool->idle = conn->next;
        conn->driver->close(conn);
    }
    pthread_cond_destroy(&pool->available);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static void release_slot(pawli_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->open--;
    pthread_cond_signal(&pool->available);
    pthread_mutex_unlock(&pool->lock);
}

/* Called with the lock held, which makes it atomic with pawli_pool_interrupt(). */
static pawl_status pool_lend(pawli_pool *pool, pawli_conn *conn, uint64_t interrupts_seen,
                             pawli_conn **ret_conn, pawl_error *err)
{
    if (pool->interrupts_seen != interrupts_seen) {
        conn->next = pool->idle;
        pool->idle = conn;
        pthread_cond_signal(&pool->available);
        return pawli_fail(err, PAWL_E_INTERRUPTED, "interrupted before the statement was sent");
    }
    atomic_store(&conn->stop, false);
    conn->next = pool->busy;
    pool->busy = conn;
    *ret_conn = conn;
    return PAWL_OK;
}

static pawl_status open_one(pawli_pool *pool, uint64_t interrupts_seen, pawl_mono deadline,
                            pawli_conn **ret_conn, pawl_error *err)
{
    pawli_conn *conn = NULL;
    pawl_status st = pool->settings->driver->open(pool->settings, pool->use, deadline, &conn, err);

    if (st != PAWL_OK) {
        release_slot(pool);
        return st;
    }
    pthread_mutex_lock(&pool->lock);
    pool->opened++;
    st = pool_lend(pool, conn, interrupts_seen, ret_conn, err);
    pthread_mutex_unlock(&pool->lock);
    return st;
}

pawl_status pawli_pool_acquire(pawli_pool *pool, uint64_t interrupts_seen, pawl_mono deadline,
                               pawli_conn **ret_conn, pawl_error *err)
{
    pawl_status st;

    pthread_mutex_lock(&pool->lock);
    while (true) {
        pawli_conn *conn = pool->idle;
        if (conn) {
            pool->idle = conn->next;
            if (conn->driver->alive(conn)) {
                st = pool_lend(pool, conn, interrupts_seen, ret_conn, err);
                break;
            }
            pool->open--;
            conn->driver->close(conn);
        } else if (pool->interrupts_seen != interrupts_seen) {
            st = pawli_fail(err, PAWL_E_INTERRUPTED, "interrupted while waiting for a connection");
            break;
        } else if (pool->open < pool->max) {
            pool->open++;
            pthread_mutex_unlock(&pool->lock);
            return open_one(pool, interrupts_seen, deadline, ret_conn, err);
        } else if (pawli_mono_passed(deadline)) {
            st = pawli_fail(err, PAWL_E_BUSY,
                            "all %d connections of the store were in use until the timeout",
                            pool->max);
            break;
        } else {
            pawli_cond_wait_until(&pool->available, &pool->lock, deadline);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return st;
}

void pawli_pool_give_back(pawli_pool *pool, pawli_conn *conn)
{
    pthread_mutex_lock(&pool->lock);
    for (pawli_conn **at = &pool->busy; *at; at = &(*at)->next) {
        if (*at == conn) {
            *at = conn->next;
            break;
        }
    }
    if (!conn->broken) {
        conn->next = pool->idle;
        pool->idle = conn;
        conn = NULL;
    } else {
        pool->open--;
    }
    pthread_cond_signal(&pool->available);
    pthread_mutex_unlock(&pool->lock);
    if (conn)
        conn->driver->close(conn);
}

uint64_t pawli_pool_interrupts(pawli_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    uint64_t interrupts_seen = pool->interrupts_seen;
    pthread_mutex_unlock(&pool->lock);
    return interrupts_seen;
}

uint64_t pawli_pool_opened(pawli_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    uint64_t opened = pool->opened;
    pthread_mutex_unlock(&pool->lock);
    return opened;
}

void pawli_pool_interrupt(pawli_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->interrupts_seen++;
    for (pawli_conn *conn = pool->busy; conn; conn = conn->next)
        conn->driver->interrupt(conn);
    pthread_cond_broadcast(&pool->available);
    pthread_mutex_unlock(&pool->lock);
}
