/* tests/fault/frames_test.c - how deep the stack is between an enqueue and the database's library.
 */
#include <execinfo.h>
#include <string.h>

#include "failing.h"
#include "queue_fixture.h"

#define FRAMES_MAX 12
#define CALLS_MAX 50
#define ROOM 256

static int frames_at_call;
static int frames_at_database;

/* In the place of the call that fails; inlined functions have no frame. */
static __attribute__((noinline)) void note_frames(void *context)
{
    void *frames[ROOM];

    (void)context;
    frames_at_database = backtrace(frames, ROOM);
}

static pawl_status plain_enqueue(pawl_store *store, pawl_error *err)
{
    pawl_message_spec message = queue_message("t", "x");
    void *frames[ROOM];

    frames_at_call = backtrace(frames, ROOM);
    return pawl_outbox_enqueue(store, &message, NULL, err);
}

static pawl_status one_line_send(pawl_store *store, pawl_error *err)
{
    void *frames[ROOM];

    frames_at_call = backtrace(frames, ROOM);
    return pawl_send(store, "t", "x", 1, err);
}

static bool is_request(const char *function)
{
    return strcmp(function, "sqlite3_step") == 0 || strncmp(function, "PQsendQuery", 11) == 0;
}

/* Fails one call after the other until it is the first that runs a statement. */
static int frames_to_database(fixture *f, pawl_status (*call)(pawl_store *store, pawl_error *err))
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(call(fixture_store(f), &err),
              &err); /* statements are prepared, and the allocator warm */
    for (long nth = 1; nth < CALLS_MAX; nth++) {
        failing_arm(FAILING_SQL, nth, 0);
        failing_then(note_frames, NULL);
        (void)call(fixture_store(f), &err);
        if (failing_disarm() && is_request(failing_where()))
            return frames_at_database - frames_at_call -
                   3; /* the hook's: note_frames and two more */
    }
    test_fail("no statement is run");
}

PAWL_TEST(an_enqueue_reaches_the_database_in_a_dozen_frames)
{
    fixture *f = fixture_open(NULL);
    int frames = frames_to_database(f, plain_enqueue);

    assert_in_range(frames, 1, FRAMES_MAX);
    frames = frames_to_database(f, one_line_send);
    assert_in_range(frames, 1, FRAMES_MAX);
}
