/*
 * tests/receiver/suspect_threads_test.c - messages that may have killed a receiver: they are
 * processed one at a time, and keep no one else waiting.
 */
#include "inbox_fixture.h"
#include "receiver_fixture.h"

#define ONE "00000000-0000-4000-8000-000000000001"
#define TWO "00000000-0000-4000-8000-000000000002"
#define THREE "00000000-0000-4000-8000-000000000003"

/* A receiver that has died with both of them. */
static receiver_fixture *open_after_death(controlled_handler *p, const pawl_receiver_options *opts)
{
    receiver_fixture *s = receiver_open(opts);
    pawl_error err = PAWL_ERROR_INIT;

    inbox_let_go(inbox_call(s->f, ONE, NULL));
    inbox_let_go(inbox_call(s->f, TWO, NULL));
    fixture_advance(s->f, 31 * SECOND_MS);
    controlled_handler_init(p, s);
    p->waits = true;
    assert_ok(pawl_receiver_handle(s->receiver, NULL, PAWL_RECEIVE_CALL_OUT, controlled_handle, p,
                                   NULL, &err),
              &err);
    receiver_start(s);
    return s;
}

static int send_one(receiver_fixture *s, const char *id)
{
    int fd = client_connect(s);

    post_begin(fd, sample_text(s, &(sample){.id = id}));
    return fd;
}

static void await_waiting(receiver_fixture *s, int64_t count)
{
    pawl_receiver_stats stats = PAWL_RECEIVER_STATS_INIT;

    while (stats.waiting != count)
        pawl_receiver_get_stats(s->receiver, &stats);
}

PAWL_TEST(suspects_are_processed_one_at_a_time_and_others_pass)
{
    static controlled_handler p;
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    int fds[3];
    receiver_fixture *s;

    options.handlers = 2;
    s = open_after_death(&p, &options);
    fds[0] = send_one(s, ONE);
    controlled_await(&p.there);
    fds[1] = send_one(s, TWO);
    await_waiting(s, 1);
    assert_int_equal(1, inbox_record(s->f, TWO)->attempts); /* that of the death */
    fds[2] = send_one(s, THREE);
    controlled_await(&p.there); /* there is a thread for it */
    assert_int_equal(2, p.calls);
    assert_int_equal(PAWL_INBOX_PROCESSING, inbox_record(s->f, THREE)->state);
    assert_int_equal(1, inbox_record(s->f, TWO)->attempts);
    for (int i = 0; i < 3; i++)
        controlled_go(&p);
    for (int i = 0; i < 3; i++)
        assert_int_equal(200, client_read(fds[i])->status);
    assert_int_equal(3, p.calls);
    assert_int_equal(2, inbox_record(s->f, TWO)->attempts);
}

PAWL_TEST(a_suspect_that_waits_is_turned_away_at_the_end)
{
    static controlled_handler p;
    pawl_receiver_options options = PAWL_RECEIVER_OPTIONS_INIT;
    int fds[2];
    receiver_fixture *s;

    options.grace_ms = 0;
    s = open_after_death(&p, &options);
    p.result = PAWL_RETRY;
    fds[0] = send_one(s, ONE);
    controlled_await(&p.there);
    fds[1] = send_one(s, TWO);
    await_waiting(s, 1);
    pawl_receiver_stop(s->receiver);
    assert_int_equal(500, client_read(fds[0])->status);
    assert_int_equal(503, client_read(fds[1])->status);
    assert_int_equal(1, inbox_record(s->f, TWO)->attempts);
}
