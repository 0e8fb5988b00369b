/* bench/memory.c - the memory of a worker that empties a large backlog, in a process of its own. */
#include "memory.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basics.h"

#define CHILD_WORD "memory-child"
enum { CHILD_URL = 2, CHILD_SCHEMA, CHILD_BATCH, CHILD_ARGUMENTS };

/*
 * The peak resident size of this process in KiB. Not ru_maxrss: that one remembers, across exec,
 * the size of the process that started this one.
 */
static long peak_kib(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;

    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    }
    if (file)
        fclose(file);
    return kib;
}

bool memory_is_child(int argc, char **argv)
{
    return argc == CHILD_ARGUMENTS && strcmp(argv[1], CHILD_WORD) == 0;
}

int memory_child(char **argv)
{
    database db = {.topics = 1};
    size_t batch = (size_t)strtol(argv[CHILD_BATCH], NULL, 10);
    long long done = 0;
    long start;
    size_t count;
    double began;
    void *program, *worker;

    snprintf(db.url, sizeof db.url, "%s", argv[CHILD_URL]);
    snprintf(db.schema, sizeof db.schema, "%s", argv[CHILD_SCHEMA]);
    program = side_pawl.open(&db, 1);
    worker = side_pawl.worker_new(program);
    start = peak_kib();
    began = seconds_now();
    while ((count = side_pawl.claim(worker, batch)) > 0) {
        side_pawl.ack(worker);
        done += (long long)count;
    }
    printf("%lld %.6f %ld %ld\n", done, seconds_now() - began, start, peak_kib());
    side_pawl.worker_free(worker);
    side_pawl.close(program);
    return 0;
}

/* Start the child; returns the end of a pipe that has its answer. */
static FILE *start_child(const database *db, size_t batch, pid_t *ret_pid)
{
    char program[] = "/proc/self/exe", word[] = CHILD_WORD, number[24];
    char *url = strdup(db->url), *schema = strdup(db->schema);
    char *arguments[] = {program, word, url, schema, number, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];

    if (!url || !schema || pipe(ends) != 0)
        die("no pipe for a second process");
    snprintf(number, sizeof number, "%zu", batch);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    if (posix_spawn(ret_pid, program, &actions, NULL, arguments, environ) != 0)
        die("no second process for the memory row");
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    free(url);
    free(schema);
    return fdopen(ends[0], "r");
}

void memory_measure(row *r, grounds *g, const options *opts)
{
    database *db = &g->pawl;
    long long done = 0;
    double seconds = 0;
    char answer[128] = "", *end = answer;
    int status = 0;
    pid_t pid = -1;
    FILE *file;

    db->topics = r->topics;
    db->engine->reset(db);
    db->engine->fill(db, opts->backlog);
    db->engine->tidy(db);
    file = start_child(db, r->load.batch, &pid);
    if (!file || !fgets(answer, sizeof answer, file))
        answer[0] = '\0';
    if (file)
        fclose(file);
    if (waitpid(pid, &status, 0) != pid || status != 0 || !answer[0])
        die("the process of the memory row failed");
    done = strtoll(end, &end, 10);
    seconds = strtod(end, &end);
    r->start_kib = strtol(end, &end, 10);
    r->peak_kib = strtol(end, &end, 10);
    if (done != opts->backlog)
        die("the memory row took %lld messages of %lld", done, (long long)opts->backlog);
    r->pawl_rate = (double)done / seconds;
}
