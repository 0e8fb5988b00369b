/* tests/crash/disk_fault_test.c - a write or a sync that fails: in doubt, then going on, nothing
 * lost.
 */
#include <stdio.h>
#include <string.h>

#include "crash_campaign.h"
#include "crash_summary.h"

typedef struct fault_campaign {
    const char *directory;
    crash_fault fault;
    int in_a_row; /* how often it fails before it works again */
    long first;
    long stride;
} fault_campaign;

typedef struct fault_result {
    long points;   /* faults that happened */
    long in_doubt; /* answers */
    long not_done; /* answers */
    long there;    /* of those in doubt, how many had been done after all */
    long images;   /* checked, of a power cut after the end */
    long violations;
    char first[1024];
} fault_result;

#define TRIES_MORE 3 /* than there are faults in a row */

/* It reads as expired, and maintenance has not moved it yet. */
static bool is_overdue(const model_message *stored, const model_message *shown)
{
    return shown->state == PAWL_STATE_EXPIRED &&
           (stored->state == PAWL_STATE_READY || stored->state == PAWL_STATE_FAILED);
}

/* Everything as the public calls show it, in the model's terms; false: a call failed. */
static bool read_back(crash_run *l, const model *expected, model *ret_found)
{
    pawl_error err = PAWL_ERROR_INIT;
    char text[256];

    if (!observe(l->application, ret_found, text, sizeof text)) {
        crash_run_wrong(l, "afterwards %s", text);
        return false;
    }
    ret_found->schema = expected->schema;
    for (int i = 0; i < MODEL_MESSAGES; i++) {
        model_message shown;
        if (!crash_run_read(l, i, &shown, &err)) {
            crash_run_wrong(l, "afterwards message %d cannot be read: %s", i, err.message);
            return false;
        }
        if (!is_overdue(&ret_found->messages[i], &shown))
            ret_found->messages[i] = shown;
    }
    return true;
}

static bool is_same_model(const model *a, const model *b)
{
    char text[512];

    return !model_differ(a, b, text, sizeof text);
}

/* Was the call done, given that all others are as they should be? */
static void judge_call(crash_run *l, int call, const model *before, const model *found,
                       fault_result *result)
{
    const step *s = &scenario[l->at];
    bool crowd = s->verb == SEND_CROWD;
    model after = *before;

    model_apply_call(&after, s, call, step_now_ms(l->at));
    bool there = crowd ? found->messages[s->first + call].state != MODEL_ABSENT
                       : is_same_model(&after, found) && !is_same_model(before, found);
    if (!there && !crowd && !is_same_model(before, found)) {
        crash_run_wrong(l, "answered %s and half of it is there", pawl_status_name(l->status));
        return;
    }
    if (l->answers[call] == ANSWER_NOT_DONE && there)
        crash_run_wrong(l, "answered %s and it is there", pawl_status_name(l->status));
    if (l->answers[call] == ANSWER_IN_DOUBT) {
        result->in_doubt++;
        result->there += there;
    } else {
        result->not_done++;
    }
    if (there)
        l->answers[call] = ANSWER_DONE;
}

/*
 * A sync of the WAL is the commit itself, or comes after it: "not done" would be a promise that
 * cannot be made.
 */
static void judge_status(crash_run *l)
{
    verb v = scenario[l->at].verb;
    bool writes = v != CHECKPOINT_PASSIVE && v != CHECKPOINT_RESTART && v != CHECKPOINT_TRUNCATE &&
                  v != REOPEN && v != READ_BACK;

    if (crash_vfs_fault_in_wal() && writes && l->status != PAWL_E_IN_DOUBT)
        crash_run_wrong(l, "the commit failed and was answered %s", pawl_status_name(l->status));
}

/* The step was not done as a whole: find out what was, as a program would that asks again. */
static void resolve_step(crash_run *l, fault_result *result)
{
    const model *before = scenario_model(l->at);
    const step *s = &scenario[l->at];
    bool done = true;
    model found;

    judge_status(l);
    if (!l->store || !before->schema || !before->orders_table) {
        result->in_doubt += l->answers[0] == ANSWER_IN_DOUBT;
        result->not_done += l->answers[0] == ANSWER_NOT_DONE;
        return; /* deploying and creating are made again whatever became of them */
    }
    if (!crash_run_application(l)) {
        crash_run_wrong(l, "afterwards the file cannot be opened");
        return;
    }
    if (!read_back(l, before, &found))
        return;
    for (int call = 0; call < step_calls(s); call++) {
        if (l->answers[call] != ANSWER_DONE)
            judge_call(l, call, before, &found, result);
        done = done && l->answers[call] == ANSWER_DONE;
    }
    if (done) {
        memset(l->answers, 0, sizeof l->answers);
        l->at++;
    }
}

static void go_through(crash_run *l, int tries_at_most, fault_result *result)
{
    int tries = 0;

    while (l->at < scenario_count && !l->wrong[0]) {
        size_t at = l->at;

        if (!crash_run_step(l)) {
            if (!crash_vfs_fault_happened())
                crash_run_wrong(l, "answered %s and nothing had happened",
                                pawl_status_name(l->status));
            else if (++tries == tries_at_most)
                crash_run_wrong(l, "still answers %s", pawl_status_name(l->status));
            else
                resolve_step(l, result);
        }
        if (l->at != at)
            tries = 0;
    }
    if (crash_vfs_writes_after_failure() > 0)
        crash_run_wrong(l, "a connection was used again on which a write or a sync had failed");
}

static void note_violation(const fault_campaign *c, long at, const char *text, fault_result *result)
{
    char whole[1024];

    snprintf(whole, sizeof whole, "%d faults %s from %ld on: %s", c->in_a_row,
             crash_fault_name(c->fault), at, text);
    result->violations++;
    printf("# %s\n", whole);
    if (!result->first[0])
        memcpy(result->first, whole, sizeof whole);
}

/* Everything was done in the end, so whatever a power cut leaves, everything must be there. */
static void check_images(const fault_campaign *c, long at, const check_expect *e,
                         fault_result *result)
{
    static const disk_loss losses[] = {DISK_DROPPED, DISK_KEPT, DISK_SECTORS};

    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
        char path[1024];
        char folder[1024];
        char text[768];

        crash_campaign_clear(c->directory, "image", path, sizeof path);
        snprintf(folder, sizeof folder, "%s/image", c->directory);
        result->images++;
        if (!crash_vfs_image(folder, losses[i], (uint64_t)at))
            note_violation(c, at, "the image could not be written", result);
        else if (!check_database(path, e, text, sizeof text))
            note_violation(c, at, text, result);
    }
}

static bool run_one(const fault_campaign *c, long at, fault_result *result)
{
    crash_plan plan = {.fault = c->fault, .fault_at = at, .fault_count = c->in_a_row};
    check_expect expect;
    char path[1024];
    crash_run l;

    crash_campaign_clear(c->directory, "live", path, sizeof path);
    crash_run_init(&l, path, PAWL_DURABILITY_FULL);
    crash_vfs_begin(&plan);
    go_through(&l, c->in_a_row + TRIES_MORE, result);
    bool happened = crash_vfs_fault_happened();
    check_expect_run(&expect, &l);
    crash_vfs_cut_power();
    crash_run_close(&l);
    crash_vfs_end();
    result->points += happened;
    if (l.wrong[0])
        note_violation(c, at, l.wrong, result);
    else if (happened)
        check_images(c, at, &expect, result);
    return happened;
}

/*
 * For one operation after the other: it fails, the step is judged by what the store then shows and
 * made again if it was not done, the scenario continues to its end, and then power is lost.
 */
static void run_faults(const fault_campaign *c, fault_result *ret_result)
{
    *ret_result = (fault_result){0};
    for (long at = c->first; ret_result->violations < 10; at += c->stride) {
        if (!run_one(c, at, ret_result))
            break;
    }
    crash_vfs_forget();
}

/* ---- tests ---- */

static void let_fail(crash_fault fault, int in_a_row, long stride)
{
    fault_campaign c = {
        .directory = test_directory(), .fault = fault, .in_a_row = in_a_row, .first = 1};
    fault_result result;

    crash_vfs_install();
    c.stride = test_stride(stride);
    run_faults(&c, &result);
    printf("# %d x %s: %ld times, %ld answers in doubt, %ld not done, then %ld crash points, %ld "
           "violations\n",
           in_a_row, crash_fault_name(fault), result.points, result.in_doubt, result.not_done,
           result.images, result.violations);
    if (result.violations > 0)
        test_fail("%ld violations; the first: %s", result.violations, result.first);
    assert_true(result.points > 0);
    assert_true(result.in_doubt > 0);
}

PAWL_TEST(a_sync_that_fails_is_in_doubt)
{
    let_fail(CRASH_FAULT_SYNC, 1, 4);
}

PAWL_TEST(syncs_that_fail_for_a_while_are_in_doubt)
{
    let_fail(CRASH_FAULT_SYNC, 4, 9);
}

PAWL_TEST(a_full_disk_is_in_doubt_and_can_be_emptied)
{
    let_fail(CRASH_FAULT_FULL, 4, 37);
}

PAWL_TEST(a_write_that_fails_is_in_doubt)
{
    let_fail(CRASH_FAULT_WRITE, 1, 41);
}
