/* bench/child.c - a part of the bench that runs in a process of its own: this program again. */
#include "child.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basics.h"

#define CHILD_WORD "a-child-of-bench"

enum {
    ARG_CHILD = 1,
    ARG_JOB,
    ARG_ENGINE,
    ARG_TARGET,
    ARG_URL,
    ARG_SCHEMA,
    ARG_NUMBERS, /* durability, topics, descriptor, size */
    ARGUMENTS
};

static void *map(int fd, size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (memory == MAP_FAILED)
        die("no memory to share with a second process");
    return memory;
}

shared shared_new(size_t size)
{
    shared self = {.size = size, .fd = memfd_create("pawl-bench", 0)};

    if (self.fd < 0 || ftruncate(self.fd, (off_t)size) != 0)
        die("no memory to share with a second process");
    self.memory = map(self.fd, size);
    return self;
}

void shared_free(shared *self)
{
    munmap(self->memory, self->size);
    close(self->fd);
    *self = (shared){.fd = -1};
}

static char *copy(const char *text)
{
    char *copied = strdup(text);

    if (!copied)
        die("out of memory");
    return copied;
}

pid_t child_start(const child_job *job, const database *db, const shared *memory)
{
    char numbers[96];
    char *arguments[ARGUMENTS + 1] = {NULL};
    pid_t pid = -1;

    snprintf(numbers, sizeof numbers, "%d %d %d %zu", (int)db->durability, db->topics, memory->fd,
             memory->size);
    arguments[0] = copy("/proc/self/exe");
    arguments[ARG_CHILD] = copy(CHILD_WORD);
    arguments[ARG_JOB] = copy(job->word);
    arguments[ARG_ENGINE] = copy(db->engine->name);
    arguments[ARG_TARGET] = copy(db->target);
    arguments[ARG_URL] = copy(db->url);
    arguments[ARG_SCHEMA] = copy(db->schema);
    arguments[ARG_NUMBERS] = copy(numbers);
    if (posix_spawn(&pid, arguments[0], NULL, NULL, arguments, environ) != 0)
        die("no second process for %s", job->word);
    for (int i = 0; i < ARGUMENTS; i++)
        free(arguments[i]);
    return pid;
}

void child_wait(pid_t pid)
{
    int status = 0;

    if (waitpid(pid, &status, 0) != pid || status != 0)
        die("a process of the bench failed");
}

static database read_database(char **argv, shared *ret_memory)
{
    const engine *const engines[] = {engine_sqlite, engine_postgres};
    database db = {0};
    char *at = argv[ARG_NUMBERS];

    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++)
        if (engines[i] && strcmp(engines[i]->name, argv[ARG_ENGINE]) == 0)
            db.engine = engines[i];
    snprintf(db.target, sizeof db.target, "%s", argv[ARG_TARGET]);
    snprintf(db.url, sizeof db.url, "%s", argv[ARG_URL]);
    snprintf(db.schema, sizeof db.schema, "%s", argv[ARG_SCHEMA]);
    db.durability = (pawl_durability)strtol(at, &at, 10);
    db.topics = (int)strtol(at, &at, 10);
    ret_memory->fd = (int)strtol(at, &at, 10);
    ret_memory->size = (size_t)strtoull(at, &at, 10);
    return db;
}

bool child_run(int argc, char **argv, const child_job *const *jobs, size_t count)
{
    shared memory = {0};
    database db;

    if (argc != ARGUMENTS || strcmp(argv[ARG_CHILD], CHILD_WORD) != 0)
        return false;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody would wait for it */
    db = read_database(argv, &memory);
    memory.memory = map(memory.fd, memory.size);
    for (size_t i = 0; i < count; i++)
        if (strcmp(jobs[i]->word, argv[ARG_JOB]) == 0)
            jobs[i]->run(&db, memory.memory);
    shared_free(&memory);
    return true;
}
