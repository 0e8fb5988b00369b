/*
 * tests/concurrency/poison_process_test.c - twelve messages in one process, one of which kills it
 * every time: the others are processed, and it ends as dead.
 */
#include "poison.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "child_process.h"
#include "inbox_fixture.h"

/* Enough for the killer's deaths, and for deliveries that a busy machine makes fail. */
#define ROUNDS 60

typedef struct poisoned {
    fixture *f;
    poison *shared;
    const char *file;
    child receiver;
    int deaths;
} poisoned;

static void end_poisoned(void *context)
{
    poisoned *p = context;

    child_end(&p->receiver);
    free(p);
}

static poisoned *open_poisoned(bool call_out)
{
    poisoned *p = calloc(1, sizeof *p);

    assert_non_null(p);
    test_defer(end_poisoned, p);
    p->f = inbox_fixture(NULL);
    p->shared = child_shared_memory(sizeof(poison), &p->file);
    p->shared->call_out = call_out;
    return p;
}

/* The receiver from its start to its end. */
static void receive_once(poisoned *p)
{
    const char *arguments[] = {fixture_expand(p->f, "{orders}"), p->file, NULL};

    child_start_on(&p->receiver, "poison_helper", p->f, arguments);
    int status = child_await_end(&p->receiver);
    child_end(&p->receiver);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        p->deaths++;
    else if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != POISON_BUSY))
        test_fail("a receiver ended with wait status %d", status);
    fixture_advance(p->f, 31 * SECOND_MS); /* its deliveries can be processed again */
}

static bool all_ended(const poisoned *p)
{
    for (int i = 0; i < POISON_MESSAGES; i++)
        if (!atomic_load(&p->shared->ended[i]))
            return false;
    return true;
}

/* NULL, or what is wrong. */
static const char *check_messages(poisoned *p)
{
    for (int i = 0; i < POISON_MESSAGES; i++) {
        int64_t rows = fixture_count(p->f, "SELECT count(*) FROM {orders} WHERE n = %d", i);
        bool is_killer = i == POISON_KILLER;

        if (!atomic_load(&p->shared->ended[i]))
            return test_note("message %d has no end after %d deaths", i, p->deaths);
        if (atomic_load(&p->shared->refused[i]) != is_killer)
            return test_note("message %d is %s", i, is_killer ? "not dead" : "dead");
        if (atomic_load(&p->shared->effects[i]) != !is_killer ||
            (!p->shared->call_out && rows != !is_killer))
            return test_note("message %d was processed %d times", i,
                             atomic_load(&p->shared->effects[i]));
    }
    return NULL;
}

/* Without its memory of attempts that did not end, the inbox would never find the killer. */
PAWL_TEST(a_receiver_that_forgets_its_suspects_is_noticed)
{
    poisoned *p = open_poisoned(true);

    for (int i = 0; i < 2 * POISON_ATTEMPTS && !all_ended(p); i++) {
        receive_once(p);
        fixture_exec(p->f, "UPDATE {inbox_record} SET state = 0, suspect = %s, attempts = 0",
                     fixture_is_postgres(p->f) ? "false" : "0");
    }
    assert_non_null(check_messages(p));
}

static void check_receivers(bool call_out)
{
    poisoned *p = open_poisoned(call_out);

    for (int i = 0; i < ROUNDS && !all_ended(p); i++)
        receive_once(p);
    const char *wrong = check_messages(p);
    printf("# %s: %d deaths, up to %d handlers at once\n", call_out ? "call-out" : "atomic",
           p->deaths, atomic_load(&p->shared->together));
    if (wrong)
        test_fail("%s", wrong);
    /* Its first attempt is not counted, since it was not alone. */
    assert_int_equal(POISON_ATTEMPTS + 1, p->deaths);
    /* SQLite has one writer: there a handler with a transaction is always alone. */
    if (call_out || fixture_is_postgres(p->f))
        assert_true(atomic_load(&p->shared->together) > 1);
}

PAWL_TEST(of_calls_beside_one_that_kills_the_process_each_is_made)
{
    check_receivers(true);
}

PAWL_TEST(of_transactions_beside_one_that_kills_the_process_each_is_committed)
{
    check_receivers(false);
}
