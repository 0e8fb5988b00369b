/*
 * src/worker/lease_runner.h - the internals of pawl_lease_runner.
 *
 * Three descriptors become readable: `lost` when the flag is set, `deadline` (a timer) when the
 * lease has expired by the local clock even if the thread hangs in a renewal, `any` when one of
 * them is readable. The thread waits on `wake` and on its timer `alarm`.
 */
#ifndef PAWLI_LEASE_RUNNER_H
#define PAWLI_LEASE_RUNNER_H

#include <pthread.h>
#include <stdatomic.h>

#include <pawl/lease_runner.h>

#include "scope.h"

struct pawl_lease_runner {
    pawl_store *store;
    char *name;
    char *owner_name; /* or NULL */
    pawl_lease_runner_options options;
    pawl_log_sink log;
    pawl_owner owner;
    int64_t fence;
    int lost_fd;
    int deadline_fd;
    int any_fd;
    int wake_fd;
    int alarm_fd;
    pthread_t thread;
    bool has_thread;
    atomic_bool leave;
    pthread_mutex_t renewing; /* one renewal at a time; taken before `lock` */
    pthread_mutex_t lock;     /* guards the times and the fields that depend on them */
    pawl_mono step_now;       /* by_steps: the store's clock as last read */
    pawl_mono renew_at;
    pawl_mono deadline;
    int failures;  /* consecutive */
    bool reported; /* on_lost was called, or is being called */
    bool stopped;
    _Atomic pawl_lease_loss loss; /* written with the lock held */
    _Atomic int64_t expires_at;   /* by the store's clock; the same */
};

PAWLI_AUTO_DEFINE(pawl_lease_runner, pawl_lease_runner_free);

/* The local clock, or with by_steps the store's. */
pawl_mono pawli_lease_runner_now(const pawl_lease_runner *runner);
/* by_steps: reads the store's clock. */
pawl_status pawli_lease_runner_read_clock(pawl_lease_runner *runner, pawl_error *err);

/*
 * The lease was granted to a request made at `asked_at`. With the lock held, or before the runner
 * is published.
 */
void pawli_lease_runner_granted(pawl_lease_runner *runner, pawl_mono asked_at,
                                pawl_wall expires_at);
pawl_status pawli_lease_runner_start_thread(pawl_lease_runner *runner, pawl_error *err);
void pawli_lease_runner_end_thread(pawl_lease_runner *runner);

/*
 * lease_start.c: acquires the lease, trying until options.wait_ms have passed while it has another
 * owner. *ret_asked_at is the time before the successful request.
 */
pawl_status pawli_lease_runner_acquire(pawl_lease_runner *runner, pawl_lease_grant *ret_grant,
                                       pawl_mono *ret_asked_at, pawl_error *err);

#endif
