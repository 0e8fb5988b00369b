/*
 * tests/concurrency/poison_process_test.c - twelve messages in one process, one of which kills it
 * every time: the others are processed, and it ends as dead.
 */
#include "poison.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inbox_kit.h"

/* Enough for the killer's deaths, and for deliveries that a busy machine makes fail. */
#define ROUNDS 60

typedef struct scene {
    fixture *f;
    poison *shared;
    const char *file;
    pid_t receiver;
    int deaths;
} scene;

static void end_scene(void *context)
{
    scene *s = context;

    if (s->receiver > 0) {
        kill(s->receiver, SIGKILL);
        waitpid(s->receiver, NULL, 0);
    }
    munmap(s->shared, sizeof(poison));
    free(s);
}

static scene *open_scene(bool call_out)
{
    scene *s = calloc(1, sizeof *s);
    int fd;

    assert_non_null(s);
    s->f = inbox_fixture(NULL);
    s->file = test_note("%s/poison", test_directory());
    fd = open(s->file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && ftruncate(fd, sizeof(poison)) == 0);
    s->shared = mmap(NULL, sizeof(poison), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(s->shared != MAP_FAILED);
    close(fd);
    s->shared->call_out = call_out;
    test_defer(end_scene, s);
    return s;
}

static const char *helper_path(void)
{
    char path[4096] = "";
    char *slash;

    assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    slash = strrchr(path, '/');
    assert_non_null(slash);
    *slash = '\0';
    return test_note("%s/poison_helper", path);
}

/* One life of the receiver. */
static void live(scene *s)
{
    const pawl_store_options *opts = fixture_store_options(s->f);
    const char *arguments[] = {helper_path(),
                               s->file,
                               fixture_url(s->f),
                               opts->schema ? opts->schema : "",
                               opts->table_prefix ? opts->table_prefix : "",
                               fixture_expand(s->f, "{orders}"),
                               NULL};
    char *copy[COUNT_OF(arguments)] = {NULL};
    int status = 0;

    for (size_t i = 0; arguments[i]; i++) {
        copy[i] = strdup(arguments[i]);
        assert_non_null(copy[i]);
    }
    assert_non_null(copy[0]);
    assert_int_equal(0, posix_spawn(&s->receiver, copy[0], NULL, NULL, copy, environ));
    for (size_t i = 0; copy[i]; i++)
        free(copy[i]);
    assert_int_equal(s->receiver, waitpid(s->receiver, &status, 0));
    s->receiver = 0;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        s->deaths++;
    else if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 75))
        test_fail("a receiver ended with wait status %d", status);
    fixture_advance(s->f, 31 * SECOND_MS); /* what it was at can be taken over */
}

static bool all_ended(const scene *s)
{
    for (int i = 0; i < POISON_MESSAGES; i++)
        if (!atomic_load(&s->shared->ended[i]))
            return false;
    return true;
}

/* NULL, or what is wrong. */
static const char *check(scene *s)
{
    for (int i = 0; i < POISON_MESSAGES; i++) {
        int64_t rows = fixture_count(s->f, "SELECT count(*) FROM {orders} WHERE n = %d", i);
        bool is_killer = i == POISON_KILLER;

        if (!atomic_load(&s->shared->ended[i]))
            return test_note("message %d has no end after %d deaths", i, s->deaths);
        if (atomic_load(&s->shared->refused[i]) != is_killer)
            return test_note("message %d is %s", i, is_killer ? "not dead" : "dead");
        if (atomic_load(&s->shared->effects[i]) != !is_killer ||
            (!s->shared->call_out && rows != !is_killer))
            return test_note("message %d was processed %d times", i,
                             atomic_load(&s->shared->effects[i]));
    }
    return NULL;
}

/* Without its memory of attempts that did not end, the inbox would never find the killer. */
PAWL_TEST(a_receiver_that_forgets_its_suspects_is_noticed)
{
    scene *s = open_scene(true);

    for (int i = 0; i < 2 * POISON_ATTEMPTS && !all_ended(s); i++) {
        live(s);
        fixture_exec(s->f, "UPDATE {inbox_record} SET state = 0, suspect = %s, attempts = 0",
                     fixture_is_postgres(s->f) ? "false" : "0");
    }
    assert_non_null(check(s));
}

static void check_lives(bool call_out)
{
    scene *s = open_scene(call_out);

    for (int i = 0; i < ROUNDS && !all_ended(s); i++)
        live(s);
    const char *wrong = check(s);
    printf("# %s: %d deaths, up to %d handlers at once\n", call_out ? "call-out" : "atomic",
           s->deaths, atomic_load(&s->shared->together));
    if (wrong)
        test_fail("%s", wrong);
    /* Its first attempt is not counted, since it was not alone. */
    assert_int_equal(POISON_ATTEMPTS + 1, s->deaths);
    /* SQLite has one writer: there a handler with a transaction is always alone. */
    if (call_out || fixture_is_postgres(s->f))
        assert_true(atomic_load(&s->shared->together) > 1);
}

PAWL_TEST(of_calls_beside_one_that_kills_the_process_each_is_made)
{
    check_lives(true);
}

PAWL_TEST(of_transactions_beside_one_that_kills_the_process_each_is_committed)
{
    check_lives(false);
}
