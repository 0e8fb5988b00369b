/* src/core/store_private.h - the internals of pawl_store, for the files of this directory. */
#ifndef PAWLI_STORE_PRIVATE_H
#define PAWLI_STORE_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include <pawl/outbox.h>
#include <pawl/store.h>

#include "db.h"

struct pawl_store {
    pawli_db *db;
    pawl_log_sink log;
    pawl_backoff backoff_local;
    pawl_backoff backoff_remote;
    int64_t timeout_ms;
    int64_t inbox_keep_ms;
    int64_t inbox_retry_window_ms;
    atomic_bool warned_of_keep;
    uint64_t inbox_holder; /* identifies this store among all that mark messages of the inbox */
    atomic_llong compacted_lane;        /* the lane that compact_stats read last; 0: begin again */
    atomic_uint claims_since_reap;      /* counts claims with `reap` */
    _Atomic uint64_t sent_before_claim; /* the wake counter when the last claim began */
    pawli_wake job_wake;                /* signaled when a job has changed */
    pthread_mutex_t stats_lock;
    pawl_outbox_stats *stats; /* the last result, guarded by stats_lock; NULL: none, or stale */
    pawl_mono stats_read_at;
};

/* Runs a writing op; every such op must go through here, because it invalidates cached counts. */
pawl_status pawli_store_write(pawl_store *store, const pawli_op *op, pawl_error *err);
/* The same for ops whose last one scans the queue: pawli_db_scan(). */
pawl_status pawli_store_scan(pawl_store *store, const pawli_op *ops,
                             bool (*found_nothing)(const void *context), pawl_error *err);
/* Invalidates the cached counts. */
void pawli_store_changed(pawl_store *store);

#endif
