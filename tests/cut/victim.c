/* tests/cut/victim.c - killing a whole PostgreSQL server at once. */
#include "victim.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static pid_t server_of(const char *data_directory)
{
    char path[512];
    long pid = 0;

    snprintf(path, sizeof path, "%s/postmaster.pid", data_directory);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%ld", &pid) != 1)
        pid = 0;
    fclose(file);
    return pid > 1 && kill((pid_t)pid, 0) == 0 ? (pid_t)pid : 0;
}

static pid_t parent_of(pid_t pid)
{
    char path[64], line[512] = "";
    long parent = 0;

    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    char *got = fgets(line, sizeof line, file);
    fclose(file);
    char *name_end = got ? strrchr(line, ')') : NULL;
    if (!name_end || sscanf(name_end, ") %*c %ld", &parent) != 1)
        return 0;
    return (pid_t)parent;
}

/* Its processes are leaders of groups of their own, so that no signal reaches all of them. */
static int kill_children(pid_t server)
{
    DIR *processes = opendir("/proc");
    int killed = 0;

    for (struct dirent *entry; processes && (entry = readdir(processes));) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        pid_t pid = (pid_t)atol(entry->d_name);
        if (parent_of(pid) == server && kill(pid, SIGKILL) == 0)
            killed++;
    }
    if (processes)
        closedir(processes);
    return killed;
}

int victim_kill(const char *data_directory)
{
    pid_t server = server_of(data_directory);

    /* Stopped first, so that it neither starts more of them nor notices that they die. */
    if (server == 0 || kill(server, SIGSTOP) != 0)
        return 0;
    int killed = kill_children(server);
    return kill(server, SIGKILL) == 0 ? killed + 1 : 0;
}
