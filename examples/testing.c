/*
 * examples/testing.c - a test of an application's own handler, without threads and sleeps.
 *
 *     testing [POSTGRESQL-URL]
 *
 * docs/testing.md explains it. Build it against an installed pawl:
 *     cc testing.c $(pkg-config --cflags --libs pawl)
 */
#include <stdio.h>
#include <stdlib.h>

#include <pawl/pawl.h>
#include <pawl/testing.h>

static void check(bool good, const pawl_error *err)
{
    if (good)
        return;
    fputs("failed: ", stderr);
    pawl_error_print(stderr, err);
    exit(1);
}

/* The handler under test; a real one would send an e-mail here. */
static pawl_result remind(pawl_task *task, void *mails)
{
    *(int *)mails += 1;
    return pawl_task_attempt(task) == 1 ? PAWL_RETRY : PAWL_DONE;
}

int main(int argc, char **argv)
{
    pawl_testing_options options = PAWL_TESTING_OPTIONS_INIT;
    pawl_message_spec tomorrow = PAWL_MESSAGE_SPEC_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_testing *testing = NULL;
    pawl_worker *worker = NULL;
    int mails = 0;

    options.virtual_clock = true;
    tomorrow.topic = "reminder";
    tomorrow.payload = "";
    tomorrow.delay_ms = (int64_t)24 * 3600 * 1000;
    check(!pawl_testing_new(argc > 1 ? argv[1] : NULL, &options, &testing, &err), &err);
    check(!pawl_worker_new(pawl_testing_store(testing), NULL, &worker, &err), &err);
    check(!pawl_worker_handle(worker, "reminder", remind, &mails, NULL, &err), &err);
    check(!pawl_outbox_enqueue(pawl_testing_store(testing), &tomorrow, NULL, &err), &err);

    check(!pawl_worker_until_idle(worker, &err) && mails == 0, &err); /* not due yet */
    check(!pawl_testing_advance(testing, tomorrow.delay_ms, &err), &err);
    check(!pawl_worker_until_idle(worker, &err) && mails == 1, &err);
    check(!pawl_testing_advance(testing, 1000, &err), &err); /* when the second attempt is due */
    check(!pawl_worker_until_idle(worker, &err) && mails == 2, &err);

    pawl_worker_free(worker);
    pawl_testing_free(testing); /* removes the store */
    return 0;
}
