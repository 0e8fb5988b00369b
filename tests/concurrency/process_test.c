/* tests/concurrency/process_test.c - eight processes on one queue. */
#include "kit.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 8
#define MESSAGES 2000

/* process_helper stands beside the test program. */
static const char *helper_path(void)
{
    char path[4096] = "";
    char *slash;

    assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    slash = strrchr(path, '/');
    assert_non_null(slash);
    *slash = '\0';
    return test_note("%s/process_helper", path);
}

struct helper {
    pid_t pid;
    FILE *output;
};

static struct helper spawn_helper(fixture *f, const char *verb, int number, int start)
{
    const pawl_store_options *opts = fixture_store_options(f);
    const char *arguments[] = {helper_path(),
                               verb,
                               fixture_url(f),
                               opts->schema ? opts->schema : "",
                               opts->table_prefix ? opts->table_prefix : "",
                               test_note("%d", number),
                               NULL};
    posix_spawn_file_actions_t actions;
    struct helper helper = {-1, NULL};
    char *copy[7] = {NULL};
    int ends[2];

    assert_int_equal(0, pipe2(ends, O_CLOEXEC));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, start, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    for (size_t i = 0; i + 1 < COUNT_OF(arguments); i++) {
        copy[i] = strdup(arguments[i]);
        assert_non_null(copy[i]);
    }
    assert_int_equal(0, posix_spawn(&helper.pid, arguments[0], &actions, NULL, copy, environ));
    for (int i = 0; copy[i]; i++)
        free(copy[i]);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    helper.output = fdopen(ends[0], "r");
    assert_non_null(helper.output);
    return helper;
}

static void count_ids(FILE *output, int64_t first, int *counts, int count)
{
    char line[32];

    while (fgets(line, sizeof line, output)) {
        int64_t id = strtoll(line, NULL, 10);

        if (id >= first && id < first + count)
            counts[id - first]++;
    }
}

/* Run eight of them together; counts[id - first] counts how often an id was printed. */
static void run_together(fixture *f, const char *verb, int64_t first, int *counts, int count)
{
    struct helper helpers[PROCESSES];
    int start[2];

    assert_int_equal(0, pipe2(start, O_CLOEXEC));
    for (int i = 0; i < PROCESSES; i++)
        helpers[i] = spawn_helper(f, verb, i, start[0]);
    close(start[0]);
    close(start[1]); /* their standard input ends: go */
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;

        count_ids(helpers[i].output, first, counts, count);
        fclose(helpers[i].output);
        assert_int_equal(helpers[i].pid, waitpid(helpers[i].pid, &status, 0));
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            test_fail("process %d ended with wait status %d", i, status);
    }
}

PAWL_TEST(eight_processes_claim_every_message_once)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_outgoing *messages = test_malloc(MESSAGES * sizeof *messages);
    pawl_enqueued *sent = test_malloc(MESSAGES * sizeof *sent);
    int counts[MESSAGES] = {0};
    int64_t first;

    for (int i = 0; i < MESSAGES; i++)
        messages[i] = kit_message(i % 3 ? "common" : "rare", "x");
    assert_ok(pawl_outbox_enqueue_batch(fixture_store(f), messages, MESSAGES, sent, &err), &err);
    first = sent[0].work_id.value;
    test_free(messages);
    test_free(sent);
    run_together(f, "claim", first, counts, MESSAGES);
    for (int i = 0; i < MESSAGES; i++)
        if (counts[i] != 1)
            test_fail("message %d was claimed %d times", i, counts[i]);
    assert_int_equal(MESSAGES, fixture_count(f, "SELECT count(*) FROM {outcome} WHERE state = 2"));
    kit_check(f);
}

PAWL_TEST(eight_processes_send_the_same_ids_and_each_is_stored_once)
{
    fixture *f = fixture_open(NULL);
    int counts[100000] = {0};
    int stored = 0;

    run_together(f, "send", 0, counts, 100000);
    for (int i = 0; i < 100000; i++) {
        assert_true(counts[i] <= 1);
        stored += counts[i];
    }
    assert_int_equal(200, stored);
    assert_int_equal(200, fixture_count(f, "SELECT count(*) FROM {body}"));
    kit_check(f);
}

PAWL_TEST(eight_processes_make_the_schema_together)
{
    const fixture_options opts = {.no_schema = true, .real_clock = true};
    fixture *f = fixture_open(&opts);

    run_together(f, "deploy", 0, NULL, 0);
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {meta}"));
    fixture_reopen(f);
    fixture_send(f, "t", "x");
    kit_check(f);
}
