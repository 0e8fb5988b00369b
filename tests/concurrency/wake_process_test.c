/* tests/concurrency/wake_process_test.c - no wake-up is lost when other processes send. */
#include "wake_kit.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 2
#define ROUNDS 500

/* wake_helper stands beside the test program. */
static const char *helper_path(void)
{
    char path[4096] = "";

    assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    char *slash = strrchr(path, '/');
    assert_non_null(slash);
    *slash = '\0';
    return test_note("%s/wake_helper", path);
}

struct helper {
    pid_t pid;
    int input; /* a byte into it: send one */
};

static struct helper spawn_helper(fixture *f)
{
    const pawl_store_options *opts = fixture_store_options(f);
    const char *words[] = {helper_path(), fixture_url(f), opts->schema ? opts->schema : "",
                           opts->table_prefix ? opts->table_prefix : ""};
    char *copy[COUNT_OF(words) + 1] = {NULL};
    posix_spawn_file_actions_t actions;
    struct helper helper = {-1, -1};
    int ends[2];

    assert_int_equal(0, pipe2(ends, O_CLOEXEC));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        copy[i] = strdup(words[i]);
        assert_non_null(copy[i]);
    }
    assert_int_equal(0, posix_spawn(&helper.pid, words[0], &actions, NULL, copy, environ));
    for (int i = 0; copy[i]; i++)
        free(copy[i]);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    helper.input = ends[1];
    return helper;
}

static void end_helper(struct helper helper)
{
    int status = -1;

    close(helper.input);
    assert_int_equal(helper.pid, waitpid(helper.pid, &status, 0));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        test_fail("a helper ended with wait status %d", status);
}

static void run_rounds(bool flighty)
{
    const fixture_options real_clock = {.real_clock = true};
    fixture *f = fixture_open(&real_clock);
    wake_worker *worker = wake_start(fixture_store(f), flighty);
    struct helper helpers[PROCESSES];
    unsigned seed = 3;
    int sent = 0;

    wake_need_events(f);
    for (int i = 0; i < PROCESSES; i++)
        helpers[i] = spawn_helper(f);
    for (int i = 0; i < wake_rounds(ROUNDS); i++) {
        int both = i % 10 == 0;

        wake_dawdle(worker, &seed);
        for (int p = 0; p <= both; p++) {
            assert_int_equal(1, write(helpers[(i + p) % PROCESSES].input, "!", 1));
            sent++;
        }
        wake_expect(worker, sent);
    }
    for (int i = 0; i < PROCESSES; i++)
        end_helper(helpers[i]);
    printf("# %d of %d messages were slept for\n", worker->sleeps, worker->taken);
}

PAWL_TEST(a_message_from_another_process_wakes)
{
    run_rounds(false);
}

PAWL_TEST(a_message_from_another_process_wakes_who_was_awake_just_before)
{
    run_rounds(true);
}
