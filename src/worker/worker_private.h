/* src/worker/worker_private.h - the internals of pawl_worker, for the files of this directory. */
#ifndef PAWLI_WORKER_PRIVATE_H
#define PAWLI_WORKER_PRIVATE_H

#include <pawl/worker.h>

#include "chores.h"
#include "crew.h"
#include "dead.h"
#include "hand.h"
#include "handlers.h"
#include "health.h"
#include "intake.h"
#include "keeper.h"
#include "missing.h"
#include "stop.h"
#include "ticker.h"

/* What the worker is doing. One thread at a time changes it. */
typedef enum pawli_mode { PAWLI_MODE_REST, PAWLI_MODE_RUN, PAWLI_MODE_STEP } pawli_mode;

struct pawl_worker {
    pawl_store *store;
    pawl_worker_options options; /* owner_name is a copy */
    pawl_log_sink log;
    pawl_owner owner;
    pawli_handlers handlers;
    pawli_handlers dead_handlers;
    _Atomic pawli_mode mode;
    pawl_mono step_now; /* single-step mode: the store's clock as last read */
    pawli_hand hand;
    pawli_intake intake;
    pawli_dead dead;
    pawli_health health;
    pawli_crew crew;
    pawli_keeper keeper;
    pawli_chores chores;
    pawli_ticker ticker;
    pawli_missing missing;
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
pawl_status pawli_worker_tick(pawl_worker *worker, pawl_error *err);

/* Adds to one of the counters. Any thread. */
void pawli_worker_count(pawl_worker *worker, int64_t *counter, size_t count);

/* stopping.c: from the start of the shutdown until no lease is owned any more. */
pawl_status pawli_worker_wind_up(pawl_worker *worker, pawl_error *err);

#endif
