/*
 * tests/receiver/lease_threads_test.c - calls whose leases cannot be renewed, since the database
 * does not answer.
 */
#include <poll.h>

#include "inbox_fixture.h"
#include "receiver_fixture.h"

/* Longer than any test waits: a renewal that the database does not answer lasts. */
static const pawl_store_options patient = {
    .size = sizeof(pawl_store_options),
    .durability = PAWL_DURABILITY_NORMAL,
    .timeout_ms = 300000,
    .pool_size = 4,
    .backoff_local = PAWL_BACKOFF_LOCAL,
    .backoff_remote = PAWL_BACKOFF_REMOTE,
    .inbox_keep_ms = 2 * DAY_MS,
};

typedef struct caller {
    sem_t called;
    sem_t cancelled;
} caller;

static pawl_result wait_until_cancelled(pawl_receive_task *reception, void *context)
{
    caller *c = context;
    struct pollfd fd = {pawl_receive_task_cancel_fd(reception), POLLIN, 0};

    sem_post(&c->called);
    while (poll(&fd, 1, 60000) != 1)
        continue;
    sem_post(&c->cancelled);
    return PAWL_RETRY;
}

static void handle_topic(receiver_fixture *s, const char *topic, caller *c, int64_t timeout_ms)
{
    pawl_receive_options own = PAWL_RECEIVE_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;

    own.timeout_ms = timeout_ms;
    sem_init(&c->called, 0, 0);
    sem_init(&c->cancelled, 0, 0);
    assert_ok(pawl_receiver_handle(s->receiver, topic, PAWL_RECEIVE_CALL_OUT, wait_until_cancelled,
                                   c, &own, &err),
              &err);
}

/* From now on a renewal waits until the test ends it. */
static void stop_database(fixture *f)
{
    if (fixture_is_postgres(f)) {
        fixture_tx_exec(f, 0, "BEGIN");
        fixture_tx_exec(f, 0, "LOCK TABLE {inbox_record} IN EXCLUSIVE MODE");
    } else {
        fixture_tx_exec(f, 0, "BEGIN IMMEDIATE");
    }
}

static receiver_fixture *open_patient(int64_t lease_ms)
{
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;

    options.lease_ms = lease_ms;
    return receiver_open_store(&patient, &options);
}

PAWL_TEST(a_call_is_cancelled_when_its_lease_expires_and_the_database_does_not_respond)
{
    receiver_fixture *s = open_patient(1000);
    static caller c;
    int fd;

    handle_topic(s, NULL, &c, 0);
    receiver_start(s);
    const char *text = sample_text(s, &(sample){0});
    fd = client_connect(s);
    post_begin(fd, text);
    controlled_await(&c.called);
    stop_database(s->f);
    controlled_await(&c.cancelled);
    fixture_tx_exec(s->f, 0, "ROLLBACK");
    assert_int_equal(500, client_read(fd)->status);
}

PAWL_TEST(a_timeout_does_not_wait_behind_the_renewal_of_another_call)
{
    receiver_fixture *s = open_patient(3000);
    static caller slow;
    static caller quick;
    int fds[2];

    handle_topic(s, "slow", &slow, 0);
    handle_topic(s, "quick", &quick, 1500); /* when the renewal of the first has begun */
    receiver_start(s);
    const char *texts[] = {sample_text(s, &(sample){.topic = "slow"}),
                           sample_text(s, &(sample){.topic = "quick"})};
    for (int i = 0; i < 2; i++) {
        fds[i] = client_connect(s);
        post_begin(fds[i], texts[i]);
        controlled_await(i == 0 ? &slow.called : &quick.called);
    }
    stop_database(s->f);
    controlled_await(&quick.cancelled);
    controlled_await(&slow.cancelled);
    fixture_tx_exec(s->f, 0, "ROLLBACK");
    for (int i = 0; i < 2; i++)
        assert_int_equal(500, client_read(fds[i])->status);
}
