/* tests/process/child.h - a process that a test has started, and what it says. */
#ifndef PAWL_PROCESS_CHILD_H
#define PAWL_PROCESS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Zero-initialised: none is running. What it says stays readable after its end. */
typedef struct child {
    pid_t pid;      /* 0: none is running */
    int in, out;    /* its standard input and output; 0: closed */
    char text[512]; /* the beginning of a line that is not whole yet */
    size_t filled;
} child;

/* Start the program `name` that stands beside this one; NULL ends `arguments` (at most 10). */
void child_start(child *c, const char *name, const char *const *arguments);
/* SIGKILL if it is running, and forget it. For a test's end: asserts nothing. */
void child_end(child *c);

void child_signal(child *c, int number);
/* Wait until SIGSTOP has stopped it. */
void child_await_stopped(child *c);
/* Whether it has ended; then *ret_status is what waitpid() says. Does not wait. */
bool child_ended(child *c, int *ret_status);

/* One byte for its standard input. What a process that has just died does not read is forgotten. */
void child_tell(child *c, unsigned char byte);
void child_close_input(child *c);
/* Give the whole lines that are there to `hear`; does not wait. */
void child_listen(child *c, void (*hear)(void *context, const char *line), void *context);

#endif
