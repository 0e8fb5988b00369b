/* bench/child.h - a part of the bench that runs in a process of its own: this program again. */
#ifndef BENCH_CHILD_H
#define BENCH_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "database.h"

/* Memory that this process and its children see. */
typedef struct shared {
    void *memory; /* zeroed; never NULL */
    size_t size;
    int fd; /* the same number in a child, as those of all descriptors that are not close-on-exec */
} shared;
shared shared_new(size_t size);
void shared_free(shared *self);

/* What a child does with the database that the parent reset, and the memory that they share. */
typedef struct child_job {
    const char *word;
    void (*run)(database *db, void *memory);
} child_job;

pid_t child_start(const child_job *job, const database *db, const shared *memory);
/* Ends this program, too, if the child did not end well. */
void child_wait(pid_t pid);

/* Whether this process is a child; then it has done its job. */
bool child_run(int argc, char **argv, const child_job *const *jobs, size_t count);

#endif
