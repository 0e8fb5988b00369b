/* tests/crash/crash_campaign.c - one run per operation, several images of each. */
#include "crash_campaign.h"
#include "prng.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "queue.db"

const char *breakage_name(breakage b)
{
    static const char *const names[BREAKAGE_COUNT] = {"nothing", "sync", "synchronous", "fence",
                                                      "reap",    "mark", "lease",       "doubt"};

    return b < BREAKAGE_COUNT ? names[b] : "?";
}

void crash_campaign_clear(const char *directory, const char *name, char *ret_path, size_t size)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal", "-lock"};

    snprintf(ret_path, size, "%s/%s", directory, name);
    mkdir(ret_path, 0700);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        snprintf(ret_path, size, "%s/%s/" FILE_NAME "%s", directory, name, endings[i]);
        unlink(ret_path);
    }
    snprintf(ret_path, size, "%s/%s/" FILE_NAME, directory, name);
}

static void describe_case(const crash_case *what, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "crash_replay %s %ld %s %llu%s%s%s",
             what->durability == PAWL_DURABILITY_NORMAL ? "normal" : "full", what->at,
             disk_loss_name(what->loss), (unsigned long long)what->seed,
             what->twice ? " twice" : "", what->broken ? " broken " : "",
             what->broken ? breakage_name(what->broken) : "");
}

/* Runs the scenario and loses power at operation `at`; the returned results go to `ret_expect`.
 */
static bool run_case(const char *directory, const crash_case *what, check_expect *ret_expect,
                     char *ret_text, size_t size)
{
    crash_plan plan = {.power_lost_at = what->at,
                       .syncs_lie = what->broken == BREAK_SYNC,
                       .synchronous_off = what->broken == BREAK_SYNCHRONOUS};
    char path[1024];
    crash_run l;

    crash_campaign_clear(directory, "live", path, sizeof path);
    broken_sql_set(what->broken);
    crash_run_init(&l, path, what->durability);
    crash_vfs_begin(&plan);
    crash_run_run(&l);
    if (l.at < scenario_count && !crash_vfs_power_lost())
        crash_run_wrong(&l, "answered %s and nothing had happened", pawl_status_name(l.status));
    check_expect_run(ret_expect, &l);
    crash_run_close(&l);
    crash_vfs_end();
    broken_sql_set(BREAK_NOTHING);
    ret_expect->doubt_is_failure = what->broken == BREAK_DOUBT;
    if (l.wrong[0])
        snprintf(ret_text, size, "%s", l.wrong);
    return !l.wrong[0];
}

/* Power goes again while the store is opened and closed; the next image is of that. */
static void live_again(const char *path, const crash_case *what)
{
    uint64_t random = what->seed ^ (uint64_t)what->at;
    crash_plan plan = {.power_lost_at = 1 + (long)(prng_next(&random) % 12)};
    pawl_store_options opts = PAWL_STORE_OPTIONS_INIT;
    pawl_store *store = NULL;
    char url[1100];

    snprintf(url, sizeof url, "sqlite:%s", path);
    crash_vfs_begin(&plan);
    if (pawl_store_open(url, &opts, &store, NULL) == PAWL_OK)
        pawl_store_close(store);
    crash_vfs_end();
}

static bool judge_image(const char *directory, const crash_case *what, const check_expect *e,
                        char *ret_text, size_t size)
{
    char path[1024];
    char folder[1024];

    crash_campaign_clear(directory, "image", path, sizeof path);
    snprintf(folder, sizeof folder, "%s/image", directory);
    bool made = crash_vfs_image(folder, what->loss, what->seed);
    if (made && what->twice) {
        live_again(path, what);
        crash_campaign_clear(directory, "image-again", path, sizeof path);
        snprintf(folder, sizeof folder, "%s/image-again", directory);
        made = crash_vfs_image(folder, what->loss, what->seed + 1);
    }
    if (!made) {
        snprintf(ret_text, size, "the image could not be written");
        return false;
    }
    return check_database(path, e, ret_text, size);
}

bool crash_campaign_run_case(const char *directory, const crash_case *what, bool *ret_lost,
                             char *ret_text, size_t size)
{
    check_expect expect;
    bool good = run_case(directory, what, &expect, ret_text, size);

    *ret_lost = crash_vfs_power_lost();
    good = good && judge_image(directory, what, &expect, ret_text, size);
    crash_vfs_forget();
    return good;
}

static void note_violation(crash_campaign_result *result, const crash_case *what, const char *text)
{
    char name[128];

    result->violations++;
    describe_case(what, name, sizeof name);
    if (!result->first[0])
        snprintf(result->first, sizeof result->first, "%s: %s", name, text);
    if (what->broken == BREAK_NOTHING)
        printf("# %s: %s\n", name, text);
}

static void check_loss(const crash_campaign *c, const crash_case *what, const check_expect *e,
                       crash_campaign_result *result)
{
    char text[768];

    result->points++;
    if (!judge_image(c->directory, what, e, text, sizeof text))
        note_violation(result, what, text);
}

/* All images of one power cut. The one with a second cut is last: it forgets the first. */
static void check_all_losses(const crash_campaign *c, crash_case *what, const check_expect *e,
                             crash_campaign_result *result)
{
    for (int loss = 0; loss < DISK_LOSS_COUNT; loss++) {
        int seeds = c->losses == 0 && loss >= DISK_SUBSET ? 2 : 1;

        if (c->losses != 0 && !(c->losses & (1u << loss)))
            continue;
        for (int i = 0; i < seeds; i++) {
            what->loss = (disk_loss)loss;
            what->seed = (uint64_t)what->at * 2 + (uint64_t)i;
            check_loss(c, what, e, result);
        }
    }
    if (c->twice) {
        what->loss = DISK_SECTORS;
        what->seed = (uint64_t)what->at;
        what->twice = true;
        check_loss(c, what, e, result);
        what->twice = false;
    }
}

void crash_campaign_run(const crash_campaign *c, crash_campaign_result *ret_result)
{
    long enough = c->enough > 0 ? c->enough : 10;
    bool lost = true;

    *ret_result = (crash_campaign_result){0};
    for (long at = c->first; lost && ret_result->violations < enough; at += c->stride) {
        crash_case what = {.durability = c->durability, .broken = c->broken, .at = at};
        check_expect expect;
        char text[768];

        bool good = run_case(c->directory, &what, &expect, text, sizeof text);
        lost = crash_vfs_power_lost();
        if (!lost)
            ret_result->operations = crash_vfs_operations();
        if (!good)
            note_violation(ret_result, &what, text);
        check_all_losses(c, &what, &expect, ret_result);
    }
    crash_vfs_forget();
}
