/* tests/cut/kill_server.c - killing a whole PostgreSQL server at once. */
#include "kill_server.h"

#include <ctype.h>
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* The first line of a file; "" if there is none. */
static void read_line(const char *path, char *ret_line, int size)
{
    FILE *file = fopen(path, "re");

    ret_line[0] = '\0';
    if (!file)
        return;
    if (!fgets(ret_line, size, file))
        ret_line[0] = '\0';
    fclose(file);
}

/* A server works in its data directory; a killed one's id may be another process's by now. */
static bool works_in(pid_t process, const char *directory)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%ld/cwd", (long)process);
    char *location = realpath(path, NULL), *wanted = realpath(directory, NULL);
    bool same = location && wanted && strcmp(location, wanted) == 0;
    free(location);
    free(wanted);
    return same;
}

static pid_t server_of(const char *data_directory)
{
    char path[512], line[64];

    snprintf(path, sizeof path, "%s/postmaster.pid", data_directory);
    read_line(path, line, sizeof line);
    long pid = strtol(line, NULL, 10);
    return pid > 1 && works_in((pid_t)pid, data_directory) ? (pid_t)pid : 0;
}

/* "123 (name) S 45 ...": its state and parent. The name may contain anything, also a parenthesis.
 */
static pid_t parent_of(const char *process, char *ret_state)
{
    char path[64], line[512];

    snprintf(path, sizeof path, "/proc/%.20s/stat", process);
    read_line(path, line, sizeof line);
    const char *name_end = strrchr(line, ')');
    if (!name_end || strlen(name_end) <= 4)
        return 0;
    *ret_state = name_end[2];
    return (pid_t)strtol(name_end + 4, NULL, 10);
}

/* A signal is only on its way when kill() returns. False: the process has ended. */
static bool stop_process(pid_t process)
{
    char name[24], state = 'R';

    snprintf(name, sizeof name, "%ld", (long)process);
    if (kill(process, SIGSTOP) != 0)
        return false;
    while (state != 'T') {
        if (parent_of(name, &state) == 0 || state == 'Z')
            return false;
        poll(NULL, 0, 1); /* there is no event for it: it is not our child */
    }
    return true;
}

/*
 * Its processes are leaders of groups of their own, so that no signal reaches all of them. A
 * stopped server reaps none, so that each id is still the child's own when the signal is sent.
 */
static int kill_children(pid_t server)
{
    DIR *processes = opendir("/proc");
    int killed = 0;
    char state;

    for (struct dirent *entry; processes && (entry = readdir(processes));) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (parent_of(entry->d_name, &state) == server &&
            kill((pid_t)strtol(entry->d_name, NULL, 10), SIGKILL) == 0)
            killed++;
    }
    if (processes)
        closedir(processes);
    return killed;
}

int kill_server(const char *data_directory)
{
    pid_t server = server_of(data_directory);

    /* Stopped first, so that it neither starts more of them nor notices that they die. */
    if (server == 0 || !stop_process(server))
        return 0;
    int killed = kill_children(server);
    return kill(server, SIGKILL) == 0 ? killed + 1 : 0;
}
