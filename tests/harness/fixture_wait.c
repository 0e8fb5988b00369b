/* tests/harness/fixture_wait.c - waiting for the server, and for calls that are blocked in it. */
#include "fixture_private.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test.h"

#define PATIENCE_MS 60000

/* It is a server on this machine: elsewhere the number may be any process's here. */
static bool is_local_server(int backend)
{
    char path[64], name[32] = "";
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/comm", backend);
    file = fopen(path, "re");
    if (!file)
        return false;
    bool is = fgets(name, sizeof name, file) && strcmp(name, "postgres\n") == 0;
    fclose(file);
    return is;
}

static void await_process_end(int process)
{
    struct pollfd end = {(int)syscall(SYS_pidfd_open, process, 0), POLLIN, 0};

    if (end.fd < 0)
        return;
    (void)poll(&end, 1, PATIENCE_MS);
    close(end.fd);
}

void fixture_await_backend_end(fixture *f, int backend)
{
    int64_t end_ms = test_clock_ms() + PATIENCE_MS;

    while (backend != 0 &&
           fixture_count(f, "SELECT count(*) FROM pg_stat_activity WHERE pid = %d", backend) > 0) {
        if (test_clock_ms() > end_ms)
            test_fail("the server's process %d is still there after a minute", backend);
        if (is_local_server(backend))
            await_process_end(backend);
    }
}

int fixture_await_blocked(fixture *f, const char *function)
{
    int64_t backend = 0;

    if (!fixture_is_postgres(f))
        return 0;
    until((backend = fixture_count(f,
                                   "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                                   " AND query LIKE '%%%s%%.%s(%%'",
                                   fixture_store_options(f)->schema, function)) != 0);
    return (int)backend;
}

void fixture_interrupt_until(pawl_store *store, const _Atomic bool *ended)
{
    while (!atomic_load(ended)) {
        uint64_t seen = activity_count();

        pawl_store_interrupt(store);
        activity_await(seen);
    }
}
