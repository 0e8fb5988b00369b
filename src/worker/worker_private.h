/* src/worker/worker_private.h - the internals of pawl_worker, for the files of this directory. */
#ifndef PAWLI_WORKER_PRIVATE_H
#define PAWLI_WORKER_PRIVATE_H

#include <pawl/worker.h>

#include "maintenance.h"
#include "handler_pool.h"
#include "dead_letters.h"
#include "inflight.h"
#include "handlers.h"
#include "store_health.h"
#include "claim_loop.h"
#include "lease_renewer.h"
#include "unhandled_topics.h"
#include "stop_request.h"
#include "job_scheduler.h"

/* What the worker is doing. One thread at a time changes it. */
typedef enum pawli_mode { PAWLI_MODE_IDLE, PAWLI_MODE_RUN, PAWLI_MODE_STEP } pawli_mode;

struct pawl_worker {
    pawl_store *store;
    pawl_worker_options options; /* owner_name is a copy */
    pawl_log_sink log;
    pawl_owner owner;
    pawli_handlers handlers;
    pawli_handlers dead_handlers;
    _Atomic pawli_mode mode;
    pawl_mono step_now; /* single-step mode: the store's clock as last read */
    pawli_inflight inflight;
    pawli_claim_loop claim_loop;
    pawli_dead_letters dead;
    pawli_store_health health;
    pawli_handler_pool pool;
    pawli_lease_renewer renewer;
    pawli_maintenance maintenance;
    pawli_job_scheduler job_scheduler;
    pawli_unhandled_topics unhandled;
    pawli_stop stop;
    pthread_mutex_t stats_lock; /* guards the next */
    pawl_worker_stats stats;
};

/*
 * The clock by which leases are measured: the local one, or in single-step mode the store's, so
 * that a test that moves the store's clock moves everything.
 */
pawl_mono pawli_worker_now(const pawl_worker *worker);
/* Single-step mode: reads the store's clock. */
pawl_status pawli_worker_read_clock(pawl_worker *worker, pawl_error *err);

/* Adds to one of the counters. Any thread. */
void pawli_worker_count(pawl_worker *worker, int64_t *counter, size_t count);

/* shutdown.c: from the start of the shutdown until no lease is owned any more. */
pawl_status pawli_worker_shut_down(pawl_worker *worker, pawl_error *err);

#endif
