/* tests/harness/helper.c - helpers shared by the programs that tests start. */
#include "helper.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_MS 5000

pawl_store *helper_open_with(char **arguments, pawl_store_options opts)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    opts.schema = *arguments[2] ? arguments[2] : NULL;
    opts.table_prefix = *arguments[3] ? arguments[3] : NULL;
    if (pawl_store_open(arguments[1], &opts, &store, &err) != PAWL_OK)
        helper_complain("open", &err);
    return store;
}

pawl_store *helper_open(char **arguments)
{
    pawl_store_options opts = PAWL_STORE_OPTIONS_INIT;

    opts.timeout_ms = TIMEOUT_MS;
    return helper_open_with(arguments, opts);
}

void *helper_map(const char *path, size_t size)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *memory =
        fd < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (fd >= 0)
        close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

void helper_say(const char *format, ...)
{
    char line[256];
    va_list arguments;

    va_start(arguments, format);
    /* Read once per target, the analyzer takes every va_list after the first for uninitialized. */
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    int size = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (size < 0 || size >= (int)sizeof line - 1)
        return;
    line[size++] = '\n';
    /* Not stdio: a line is there before the next thing is done, and is never cut in two. */
    if (write(STDOUT_FILENO, line, (size_t)size) != size)
        _exit(1);
}

int helper_complain(const char *what, const pawl_error *err)
{
    fprintf(stderr, "%s: %s: %s\n", what, pawl_status_name(err->status), err->message);
    return 1;
}

int64_t helper_clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

const char *helper_option(const char *argument, const char *name)
{
    size_t size = strlen(name);

    return strncmp(argument, name, size) == 0 && argument[size] == '=' ? argument + size + 1 : NULL;
}
