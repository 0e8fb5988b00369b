/* src/worker/worker_private.h - the insides of pawl_worker, for the files of this folder. */
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
    pawl_worker_options options; /* owner_name is ours */
    pawl_log_sink log;
    pawl_owner owner;
    pawli_handlers handlers;
    pawli_handlers dead_handlers;
    _Atomic pawli_mode mode;
    pawl_mono step_now; /* step by step: the store's clock, as it was last read */
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
 * The clock that leases are measured with: our own, or step by step the store's, so that a test
 * that moves it moves everything.
 */
pawl_mono pawli_worker_now(const pawl_worker *worker);
/* Step by step: read the store's clock. */
pawl_status pawli_worker_tick(pawl_worker *worker, pawl_error *err);

/* Add to one of the counters. Any thread. */
void pawli_worker_count(pawl_worker *worker, int64_t *counter, size_t count);

/* stopping.c: from the moment that stopping began until nothing is held any more. */
pawl_status pawli_worker_wind_up(pawl_worker *worker, pawl_error *err);

#endif
