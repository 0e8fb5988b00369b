/* tests/scenario/child_process.c - a process that a test has started, and what it says. */
#include "child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#define ARGUMENTS_MAX 10

static const char *beside(const char *name)
{
    char path[4096] = "";

    assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    char *slash = strrchr(path, '/');
    assert_non_null(slash);
    *slash = '\0';
    return test_note("%s/%s", path, name);
}

void child_start(child *c, const char *name, const char *const *arguments)
{
    const char *path = beside(name);
    char *copy[ARGUMENTS_MAX + 2] = {strdup(path)};
    posix_spawn_file_actions_t actions;
    int in[2], out[2];

    for (int i = 0; i < ARGUMENTS_MAX && arguments[i]; i++)
        copy[i + 1] = strdup(arguments[i]);
    assert_int_equal(0, pipe2(in, O_CLOEXEC));
    assert_int_equal(0, pipe2(out, O_CLOEXEC));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    pid_t pid = 0;
    int failed = posix_spawn(&pid, path, &actions, NULL, copy, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    for (int i = 0; copy[i]; i++)
        free(copy[i]);
    if (failed)
        test_fail("cannot start %s: %s", path, strerror(failed));
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    *c = (child){.pid = pid, .in = in[1], .out = out[0]};
}

void child_start_on(child *c, const char *name, fixture *f, const char *const *more)
{
    const pawl_store_options *opts = fixture_store_options(f);
    const char *arguments[ARGUMENTS_MAX + 1] = {fixture_url(f), opts->schema ? opts->schema : "",
                                                opts->table_prefix ? opts->table_prefix : ""};

    for (int i = 0; more && more[i] && i < ARGUMENTS_MAX - 3; i++)
        arguments[3 + i] = more[i];
    child_start(c, name, arguments);
}

void child_end(child *c)
{
    if (c->pid > 0) {
        kill(c->pid, SIGKILL);
        waitpid(c->pid, NULL, 0);
    }
    child_close_input(c);
    if (c->out > 0)
        close(c->out);
    *c = (child){0};
}

void child_signal(child *c, int number)
{
    assert_true(c->pid > 0);
    assert_int_equal(0, kill(c->pid, number));
}

void child_await_stopped(child *c)
{
    int status = 0;

    assert_int_equal(c->pid, waitpid(c->pid, &status, WUNTRACED));
    if (!WIFSTOPPED(status)) {
        c->pid = 0;
        test_fail("a process ended with wait status %d instead of being stopped", status);
    }
}

bool child_ended(child *c, int *ret_status)
{
    if (waitpid(c->pid, ret_status, WNOHANG) != c->pid)
        return false;
    c->pid = 0;
    return true;
}

int child_await_end(child *c)
{
    int status = 0;

    assert_int_equal(c->pid, waitpid(c->pid, &status, 0));
    c->pid = 0;
    return status;
}

void child_expect_success(child *c, const char *what)
{
    int status = child_await_end(c);

    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        test_fail("%s ended with wait status %d", what, status);
}

void child_write(child *c, unsigned char byte)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;

    sigaction(SIGPIPE, &ignore, &before);
    ssize_t written = write(c->in, &byte, 1);
    sigaction(SIGPIPE, &before, NULL);
    if (written != 1 && errno != EPIPE)
        test_fail("cannot write to a process: %s", strerror(errno));
}

void child_close_input(child *c)
{
    if (c->in > 0)
        close(c->in);
    c->in = 0;
}

void child_listen(child *c, child_hear hear, void *context)
{
    ssize_t size;

    while (c->out > 0 &&
           (size = read(c->out, c->text + c->filled, sizeof c->text - 1 - c->filled)) >= 0) {
        char *line = c->text;
        char *end;

        if (size == 0) {
            close(c->out);
            c->out = 0;
            return;
        }
        c->filled += (size_t)size;
        c->text[c->filled] = '\0';
        while ((end = strchr(line, '\n'))) {
            *end = '\0';
            hear(context, line);
            line = end + 1;
        }
        c->filled = strlen(line);
        memmove(c->text, line, c->filled + 1);
    }
}

void child_listen_to_the_end(child *c, child_hear hear, void *context)
{
    while (c->out > 0) {
        struct pollfd out = {c->out, POLLIN, 0};

        (void)poll(&out, 1, -1);
        child_listen(c, hear, context);
    }
}

/* ---- memory ---- */

typedef struct mapping {
    void *memory;
    size_t size;
} mapping;

static void unmap(void *argument)
{
    mapping *m = argument;

    munmap(m->memory, m->size);
    free(m);
}

void *child_shared_memory(size_t size, const char **ret_path)
{
    mapping *m = malloc(sizeof *m);
    const char *path = test_note("%s/shared", test_directory());
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_non_null(m);
    assert_true(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
    *m = (mapping){mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), size};
    close(fd);
    assert_true(m->memory != MAP_FAILED);
    test_defer(unmap, m);
    *ret_path = path;
    return m->memory;
}
