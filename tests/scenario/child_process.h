/* tests/scenario/child_process.h - a process that a test has started, and what it says. */
#ifndef PAWL_SCENARIO_CHILD_H
#define PAWL_SCENARIO_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "fixture.h"

/* Zero-initialised: none is running. Its output stays readable after its end. */
typedef struct child {
    pid_t pid;      /* 0: none is running */
    int in, out;    /* its standard input and output; 0: closed */
    char text[512]; /* the beginning of a line that is not whole yet */
    size_t filled;
} child;

/* Start the program `name` that stands beside this one; NULL ends `arguments` (at most 10). */
void child_start(child *c, const char *name, const char *const *arguments);
/* The same with the fixture's URL, schema and prefix before `more` (NULL: nothing more). */
void child_start_on(child *c, const char *name, fixture *f, const char *const *more);
/* SIGKILL if it is running, and forget it. For a test's end: asserts nothing. */
void child_end(child *c);

void child_signal(child *c, int number);
/* Wait until SIGSTOP has stopped it. */
void child_await_stopped(child *c);
/* Whether it has ended; then *ret_status is what waitpid() says. Does not wait. */
bool child_ended(child *c, int *ret_status);

/* Waits until it has ended; returns the status of waitpid(). */
int child_await_end(child *c);
/* The same, and its exit status must be 0. */
void child_expect_success(child *c, const char *what);

/* One byte for its standard input. Ignored if the process has just died. */
void child_write(child *c, unsigned char byte);
void child_close_input(child *c);
/* Give the whole lines that are there to `hear`; does not wait. */
typedef void (*child_hear)(void *context, const char *line);
void child_listen(child *c, child_hear hear, void *context);
/* The same, until its standard output ends. */
void child_listen_to_the_end(child *c, child_hear hear, void *context);

/* Memory in a new file, all zero, for the test and its helpers (helper_map), until the test ends.
 */
void *child_shared_memory(size_t size, const char **ret_path);

#endif
