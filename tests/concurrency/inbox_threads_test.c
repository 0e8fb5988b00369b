/* tests/concurrency/inbox_threads_test.c - several threads of one process receive the same
 * messages.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "inbox_fixture.h"

#define RECEIVERS 8
#define MESSAGES 25

/* Until it is a duplicate, as a sender would; NULL, or what is wrong. */
static const char *deliver_message(fixture *f, int message, bool call_out)
{
    const char *id = test_note("%d", message);
    pawl_store *store = fixture_store(f);

    for (;;) {
        uint64_t seen = activity_count();
        pawl_error err = PAWL_ERROR_INIT;
        pawl_inbox_task *arrival = NULL;
        pawl_status st = call_out ? pawl_inbox_call(store, "shop", id, NULL, NULL, &arrival, &err)
                                  : pawl_inbox_begin(store, "shop", id, NULL, NULL, &arrival, &err);
        if (st != PAWL_OK)
            return test_note("begin: %s", err.message);
        pawl_inbox_result answer = pawl_inbox_task_result(arrival);
        size_t size = 0;
        const char *response = pawl_inbox_task_response(arrival, &size);
        const char *wrong = NULL;
        if (answer == PAWL_INBOX_NEW) {
            pawl_message_spec effect = queue_message("effect", id);
            if (!call_out)
                st = pawl_tx_enqueue(pawl_inbox_task_tx(arrival), &effect, NULL, &err);
            else
                st = pawl_outbox_enqueue(store, &effect, NULL, &err);
            if (st == PAWL_OK)
                st = pawl_inbox_task_done(arrival, id, strlen(id), &err);
            wrong = st == PAWL_OK ? NULL : test_note("done: %s", err.message);
        } else if (answer == PAWL_INBOX_DUPLICATE &&
                   (!response || size != strlen(id) || memcmp(response, id, size) != 0)) {
            wrong = test_note("message %s got another response", id);
        } else if (answer == PAWL_INBOX_REJECTED || answer == PAWL_INBOX_CONFLICT) {
            wrong = test_note("message %s is '%s'", id, pawl_inbox_result_name(answer));
        }
        pawl_inbox_task_free(arrival);
        if (wrong || answer == PAWL_INBOX_DUPLICATE)
            return wrong;
        if (answer == PAWL_INBOX_NEW)
            activity_report();
        else
            activity_await(seen); /* until another thread has processed one */
    }
}

static const char *receive_atomic(void *context, size_t index)
{
    const char *wrong = NULL;

    for (int i = 0; !wrong && i < MESSAGES; i++)
        wrong = deliver_message(context, (i + (int)(index / 2) * 3) % MESSAGES, false);
    return wrong;
}

static const char *receive_calls(void *context, size_t index)
{
    const char *wrong = NULL;

    for (int i = 0; !wrong && i < MESSAGES; i++)
        wrong = deliver_message(context, (i + (int)(index / 2) * 3) % MESSAGES, true);
    return wrong;
}

/* ---- copies of a message that arrive at the same instant ---- */

#define COPIES 8
#define STORMS 250

typedef struct storm {
    fixture *f;
    pthread_barrier_t together;
    atomic_int answers[STORMS][5]; /* of each message, by answer */
} storm;

static const char *receive_copies(void *context, size_t index)
{
    storm *s = context;
    const char *wrong = NULL;

    (void)index;
    for (int i = 0; i < STORMS; i++) {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_inbox_task *arrival = NULL;
        const char *id = test_note("%d", i);

        pthread_barrier_wait(&s->together);
        if (pawl_inbox_begin(fixture_store(s->f), "shop", id, NULL, NULL, &arrival, &err) !=
            PAWL_OK) {
            wrong = test_note("begin: %s", err.message);
            continue; /* the others wait for this thread */
        }
        atomic_fetch_add(&s->answers[i][pawl_inbox_task_result(arrival)], 1);
        if (pawl_inbox_task_result(arrival) == PAWL_INBOX_NEW &&
            pawl_inbox_task_done(arrival, id, strlen(id), &err) != PAWL_OK)
            wrong = test_note("done: %s", err.message);
        pawl_inbox_task_free(arrival);
    }
    return wrong;
}

PAWL_TEST(of_copies_that_arrive_at_once_one_is_processed_at_once)
{
    static storm s;
    int refused = 0;

    s = (storm){.f = fixture_open(NULL)};
    pthread_barrier_init(&s.together, NULL, COPIES);
    test_threads(COPIES, receive_copies, &s);
    pthread_barrier_destroy(&s.together);
    for (int i = 0; i < STORMS; i++)
        refused += atomic_load(&s.answers[i][PAWL_INBOX_NEW]) != 1;
    if (refused > 0)
        test_fail("of %d messages %d were refused with every copy", STORMS, refused);
    assert_int_equal(STORMS, fixture_count(s.f, "SELECT count(*) FROM {inbox_record}"
                                                " WHERE state = 2 AND attempts = 1"));
}

static void check_effects(fixture *f)
{
    assert_int_equal(MESSAGES, fixture_count(f, "SELECT count(*) FROM {body}"));
    assert_int_equal(MESSAGES, fixture_count(f, "SELECT count(*) FROM {inbox_record}"
                                                " WHERE state = 2 AND attempts = 1"));
    queue_check(f);
}

PAWL_TEST(threads_that_receive_the_same_messages_have_each_effect_once)
{
    fixture *f = fixture_open(NULL);

    test_threads(RECEIVERS, receive_atomic, f);
    check_effects(f);
}

PAWL_TEST(threads_that_call_out_call_once)
{
    fixture *f = fixture_open(NULL);

    test_threads(RECEIVERS, receive_calls, f);
    check_effects(f);
}
