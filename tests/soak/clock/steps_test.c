/*
 * tests/soak/clock/steps_test.c - clocks a year ahead, a year back and stepping at random, while
 * messages, leases, jobs and the inbox are used: what is promised holds, and everything comes back.
 */
#include "inbox_fixture.h"
#include "job_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#define YEAR_US (INT64_C(365) * DAY_MS * 1000)
#define OWNERS 3

typedef struct clock_history {
    fixture *f;
    unsigned random;
    pawl_wall right; /* what a clock that is right shows */
    int sent;
    int arrivals;
} clock_history;

static int dice(clock_history *p, int sides)
{
    return rand_r(&p->random) % sides;
}

static pawl_wall store_now(clock_history *p)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_wall now = PAWL_TIME_UNSET;

    assert_ok(pawl_store_now(fixture_store(p->f), &now, &err), &err);
    return now;
}

/* ---- the clock ---- */

/* SQLite's never goes back, and goes on with the time that passes. */
static void pass(clock_history *p, int64_t ms)
{
    int64_t before_us = store_now(p).us;

    fixture_advance(p->f, ms);
    p->right.us += ms * 1000;
    if (!fixture_is_postgres(p->f))
        assert_true(store_now(p).us - before_us >= ms * 1000 - 200000);
}

/* As a worker does every second: each clock is seen once. */
static void maintain(clock_history *p)
{
    pawl_scan scan = {0, true};
    pawl_error err = PAWL_ERROR_INIT;

    while (scan.more)
        assert_ok(pawl_queue_reap(fixture_store(p->f), NULL, &scan, &err), &err);
}

static void take_clock_step(clock_history *p)
{
    int64_t now_us = fixture_now(p->f).us;

    switch (dice(p, 4)) {
    case 0:
        now_us = p->right.us + YEAR_US;
        break;
    case 1:
        now_us = p->right.us - YEAR_US;
        break;
    case 2:
        now_us += (dice(p, 20001) - 10000) * INT64_C(1000000);
        break;
    default:
        now_us = p->right.us;
        break;
    }
    fixture_set(p->f, (pawl_wall){now_us});
    if (dice(p, 4) == 0) {
        fixture_restart_machine(p->f);
        fixture_reopen(p->f);
    }
    maintain(p);
}

/* ---- what is used ---- */

static void send_one(clock_history *p)
{
    pawl_message_spec message = queue_message("t", "x");

    message.delay_ms = dice(p, 2) ? 0 : 1000 * (1 + dice(p, 60));
    message.max_attempts = 1000;
    queue_send(p->f, &message);
    p->sent++;
}

static void claim_one(clock_history *p)
{
    pawl_owner owner = queue_owner(1 + dice(p, OWNERS));
    pawl_messages *list = fixture_claim(p->f, owner, 1000 * (1 + dice(p, 30)), 5);

    if (dice(p, 2)) /* else it is lost */
        queue_ack(p->f, owner, list);
}

static void receive_one(clock_history *p)
{
    pawl_inbox_task *arrival = inbox_begin(p->f, test_note("%d", dice(p, 10)), NULL);

    if (pawl_inbox_task_result(arrival) == PAWL_INBOX_NEW) {
        p->arrivals++;
        inbox_done(arrival, "r");
    }
    inbox_let_go(arrival);
}

static void take_lease(clock_history *p)
{
    pawl_lease_grant grant;
    pawl_status st = pawl_lease_acquire(fixture_store(p->f), "l", queue_owner(1 + dice(p, OWNERS)),
                                        10 * SECOND_MS, NULL, &grant, NULL);

    assert_true(st == PAWL_OK || st == PAWL_E_HELD);
}

static void act(clock_history *p)
{
    switch (dice(p, 8)) {
    case 0:
        take_clock_step(p);
        break;
    case 1:
        pass(p, 1000 * (1 + dice(p, 90)));
        break;
    case 2:
        send_one(p);
        break;
    case 3:
        claim_one(p);
        break;
    case 4:
        queue_reap(p->f);
        break;
    case 5:
        receive_one(p);
        break;
    case 6:
        take_lease(p);
        break;
    default:
        job_tick(p->f);
        break;
    }
}

/* ---- the end ---- */

/* Nothing else is done: no command, and no store is opened again. */
static void set_right(clock_history *p)
{
    fixture_set(p->f, p->right);
}

static void assert_everything_comes_back(clock_history *p)
{
    pawl_lease_grant grant;
    pawl_error err = PAWL_ERROR_INIT;

    take_lease(p); /* if it was renewed by a clock that was ahead, this sets its end */
    job_tick(p->f);
    int64_t runs = fixture_count(p->f, "SELECT count(*) FROM {job_run}");
    for (int i = 0; i < 16; i++) {
        maintain(p);
        pass(p, 30 * SECOND_MS);
        job_tick(p->f);
        queue_ack(p->f, queue_owner(1), fixture_claim(p->f, queue_owner(1), MINUTE_MS, 1000));
    }
    assert_true(fixture_count(p->f, "SELECT count(*) FROM {job_run}") >= runs + 3);
    assert_int_equal(0, fixture_count(p->f, "SELECT count(*) FROM {queue}"));
    assert_int_equal(p->sent, fixture_count(p->f, "SELECT count(*) FROM {message}"
                                                  " WHERE topic = 't' AND state = 2"));
    assert_int_equal(0, fixture_count(p->f, "SELECT count(*) - count(DISTINCT run_id) FROM {body}"
                                            " WHERE run_id IS NOT NULL"));
    assert_ok(pawl_lease_acquire(fixture_store(p->f), "l", queue_owner(OWNERS + 2), MINUTE_MS, NULL,
                                 &grant, &err),
              &err);
    queue_check(p->f);
}

static void run_history(unsigned seed, int acts)
{
    clock_history p = {.f = fixture_open(NULL), .random = seed, .right = FIXTURE_START};
    pawl_job_definition job = job_define("j", "* * * * *");

    job.overlap = PAWL_OVERLAP_ALLOW;
    job.topic = "job";
    job.keep_runs = 1000;
    job_put(p.f, &job);
    for (int i = 0; i < acts; i++)
        act(&p);
    set_right(&p);
    assert_everything_comes_back(&p);
    fixture_close(p.f);
}

PAWL_TEST(everything_comes_back_after_clocks_that_were_wrong)
{
    unsigned given = (unsigned)test_setting("PAWL_CLOCK_SEED", 0);
    unsigned first = given ? given : 1;
    unsigned count = given ? 1 : (unsigned)test_choose(12, 100);

    for (unsigned seed = first; seed < first + count; seed++) {
        printf("# PAWL_CLOCK_SEED=%u\n", seed);
        run_history(seed, (int)test_choose(80, 300));
    }
}
