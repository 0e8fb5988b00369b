/* tests/crash/crash_replay.c - one power cut again, alone, by the words that a failing test
 * printed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crash_campaign.h"

static int usage(const char *program)
{
    fprintf(stderr,
            "usage: %s full|normal OPERATION LOSS SEED [twice] [broken WHAT]\n"
            "LOSS: dropped kept torn subset sectors scribbled\n"
            "WHAT: sync synchronous fence reap mark doubt\n",
            program);
    return 64;
}

static bool read_loss(const char *word, disk_loss *ret_loss)
{
    for (int loss = 0; loss < DISK_LOSS_COUNT; loss++) {
        if (strcmp(word, disk_loss_name((disk_loss)loss)) == 0) {
            *ret_loss = (disk_loss)loss;
            return true;
        }
    }
    return false;
}

static bool read_breakage(const char *word, breakage *ret_broken)
{
    for (int b = 0; b < BREAKAGE_COUNT; b++) {
        if (strcmp(word, breakage_name((breakage)b)) == 0) {
            *ret_broken = (breakage)b;
            return true;
        }
    }
    return false;
}

static bool read_case(int argc, char **argv, crash_case *what)
{
    char *end;

    if (argc < 5 || !read_loss(argv[3], &what->loss))
        return false;
    if (strcmp(argv[1], "normal") == 0)
        what->durability = PAWL_DURABILITY_NORMAL;
    else if (strcmp(argv[1], "full") != 0)
        return false;
    what->at = strtol(argv[2], &end, 10);
    if (*end || what->at < 0)
        return false;
    what->seed = strtoull(argv[4], &end, 10);
    if (*end)
        return false;
    for (int i = 5; i < argc; i++) {
        if (strcmp(argv[i], "twice") == 0)
            what->twice = true;
        else if (strcmp(argv[i], "broken") != 0 || ++i == argc ||
                 !read_breakage(argv[i], &what->broken))
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    char directory[] = "/tmp/pawl-crash-XXXXXX";
    crash_case what = {0};
    char text[768] = "";
    bool lost = false;

    if (!read_case(argc, argv, &what))
        return usage(argv[0]);
    if (!mkdtemp(directory)) {
        perror(directory);
        return 70;
    }
    crash_vfs_install();
    bool good = crash_campaign_run_case(directory, &what, &lost, text, sizeof text);
    printf("%s%s\nthe files are in %s\n", lost ? "" : "the operation was not reached; ",
           good ? "nothing is wrong" : text, directory);
    return good ? 0 : 1;
}
