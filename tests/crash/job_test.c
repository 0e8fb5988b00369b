/* tests/crash/job_test.c - power is lost at every operation while jobs are scheduled. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "crash_vfs.h"
#include "crash_run.h"
#include "power_loss.h"
#include "crash_summary.h"

#define JOB_STEPS 13
#define JOB_TEXT 4096

/* The jobs and their histories as public calls show them, after 0, 1, 2, ... steps. */
typedef struct job_states {
    char after[JOB_STEPS + 1][JOB_TEXT];
} job_states;

typedef struct jobs_until_the_cut {
    int at;        /* the step that was not done, or JOB_STEPS */
    answer answer; /* of that step */
} jobs_until_the_cut;

typedef struct jobs_test {
    jobs_until_the_cut l;
    job_states states;
} jobs_test;

#define OWNER ((pawl_owner){{0x1f}})
#define MINUTE_MS 60000

/* Make an empty store at `path`. */
static bool prepare_jobs(const char *path)
{
    pawl_error err = PAWL_ERROR_INIT;

    crash_vfs_set_clock(MODEL_START_MS);
    pawl_store *store = power_loss_open(path, true, &err);
    pawl_store_close(store);
    return store != NULL;
}

/* ---- steps ---- */

/* "all" runs every occurrence, "one" skips while a run has not ended, "line" has one wait. */
static pawl_status put_job(pawl_store *store, const char *name, const char *schedule,
                           pawl_error *err)
{
    pawl_job_definition job = PAWL_JOB_DEFINITION_INIT;

    job.name = name;
    job.schedule = schedule;
    job.topic = name;
    if (strcmp(name, "all") == 0) {
        job.overlap = PAWL_OVERLAP_ALLOW;
        job.misfire = PAWL_MISFIRE_ALL;
    } else if (strcmp(name, "line") == 0) {
        job.overlap = PAWL_OVERLAP_QUEUE;
    }
    return pawl_job_put(store, &job, NULL, err);
}

static pawl_status put_all(pawl_store *store, pawl_error *err)
{
    return put_job(store, "all", "* * * * *", err);
}

static pawl_status put_one(pawl_store *store, pawl_error *err)
{
    return put_job(store, "one", "* * * * *", err);
}

static pawl_status put_line(pawl_store *store, pawl_error *err)
{
    return put_job(store, "line", "*/2 * * * *", err);
}

static pawl_status put_other(pawl_store *store, pawl_error *err)
{
    return put_job(store, "all", "*/5 * * * *", err);
}

static pawl_status tick_jobs(pawl_store *store, pawl_error *err)
{
    return pawl_job_tick(store, NULL, err);
}

static pawl_status trigger_job(pawl_store *store, pawl_error *err)
{
    return pawl_job_trigger(store, "all", NULL, NULL, err);
}

static pawl_status claim_runs(pawl_store *store, pawl_error *err)
{
    pawl_messages *list = NULL;
    pawl_status st = pawl_queue_claim(store, OWNER, MINUTE_MS, 100, NULL, &list, err);

    pawl_messages_free(list);
    return st;
}

/* After a restart it lists its own messages. */
static pawl_status ack_runs(pawl_store *store, pawl_error *err)
{
    pawl_messages *list = NULL;
    pawl_receipt items[100];
    size_t count = 0;
    pawl_status st = pawl_queue_owned(store, OWNER, &list, err);

    for (; st == PAWL_OK && count < pawl_messages_count(list) && count < 100; count++) {
        const pawl_message *message = pawl_messages_at(list, count);
        items[count] = (pawl_receipt){pawl_message_work_id(message), pawl_message_fence(message)};
    }
    pawl_messages_free(list);
    return st == PAWL_OK ? pawl_queue_ack(store, OWNER, items, count, NULL, err) : st;
}

static pawl_status disable_job(pawl_store *store, pawl_error *err)
{
    return pawl_job_disable(store, "one", NULL, err);
}

static pawl_status delete_line(pawl_store *store, pawl_error *err)
{
    return pawl_job_delete(store, "line", NULL, err);
}

/* The operations, and the minute of each. */
static const struct {
    pawl_status (*call)(pawl_store *store, pawl_error *err);
    int minute;
} steps[JOB_STEPS] = {
    {put_all, 0},     {put_one, 0},    {put_line, 0},   {tick_jobs, 2},
    {tick_jobs, 6}, /* late: misfires, overlaps, one in line */
    {trigger_job, 6}, {claim_runs, 6}, {ack_runs, 6},   {tick_jobs, 6}, /* the queued run starts */
    {disable_job, 7}, {put_other, 7},  {tick_jobs, 10}, {delete_line, 10},
};

static pawl_status take_step(pawl_store *store, int which, pawl_error *err)
{
    crash_vfs_set_clock(MODEL_START_MS + steps[which].minute * MINUTE_MS);
    return steps[which].call(store, err);
}

/* ---- the states after each step ---- */

typedef struct page {
    char *text;
    size_t used;
} page;

static void append_text(page *p, const char *format, ...) PAWL_PRINTF(2, 3);
static void append_text(page *p, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int size = vsnprintf(p->text + p->used, JOB_TEXT - p->used, format, args);
    va_end(args);
    p->used += size > 0 && (size_t)size < JOB_TEXT - p->used ? (size_t)size : 0;
}

static int minute_of(pawl_wall at)
{
    return at.us ? (int)((at.us / 1000 - MODEL_START_MS) / MINUTE_MS) : -1;
}

static bool describe_runs(pawl_store *store, const char *name, page *p)
{
    pawl_runs *runs = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    if (pawl_run_list(store, name, NULL, &runs, NULL, &err) != PAWL_OK)
        return false;
    for (size_t i = pawl_runs_count(runs); i-- > 0;) {
        const pawl_run *run = pawl_runs_at(runs, i);
        append_text(p, " %s%s/%s@%d-%d*%d,%d,%d", run->triggered ? "t-" : "",
                    pawl_run_state_name(run->state), pawl_run_reason_name(run->reason),
                    minute_of(run->scheduled_at), minute_of(run->last_occurrence_at),
                    (int)run->occurrences, run->attempts, run->work_id.value != 0);
    }
    pawl_runs_free(runs);
    return true;
}

/* Jobs, histories, and how many messages there are in which state. */
static bool describe_jobs(pawl_store *store, char text[JOB_TEXT])
{
    page p = {text, 0};
    pawl_jobs *jobs = NULL;
    pawl_messages *list = NULL;
    pawl_error err = PAWL_ERROR_INIT;
    int states[8] = {0};

    text[0] = '\0';
    if (pawl_job_list(store, NULL, &jobs, NULL, &err) != PAWL_OK ||
        pawl_outbox_list(store, NULL, &list, NULL, &err) != PAWL_OK)
        return false;
    for (size_t i = 0; i < pawl_messages_count(list); i++)
        states[pawl_message_state(pawl_messages_at(list, i)) & 7]++;
    for (int i = 0; i < 8; i++)
        append_text(&p, "%d ", states[i]);
    bool good = true;
    for (size_t i = 0; good && i < pawl_jobs_count(jobs); i++) {
        const pawl_job *job = pawl_jobs_at(jobs, i);
        append_text(&p, "; %s %s %s next %d last %d:", job->name, job->definition->schedule,
                    job->enabled ? "on" : "off", minute_of(job->next_occurrence_at),
                    minute_of(job->last_occurrence_at));
        good = describe_runs(store, job->name, &p);
    }
    pawl_messages_free(list);
    pawl_jobs_free(jobs);
    return good;
}

/* All steps with nothing failing, in a store just prepared. */
static bool write_states(job_states *states, const char *path)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = power_loss_open(path, false, &err);
    bool good = store && describe_jobs(store, states->after[0]);

    for (int i = 0; good && i < JOB_STEPS; i++)
        good = take_step(store, i, &err) == PAWL_OK && describe_jobs(store, states->after[i + 1]);
    pawl_store_close(store);
    return good;
}

/* ---- until the power is lost, and after it ---- */

/* Steps until one is not done. */
static void run_jobs(void *context, const char *path)
{
    jobs_until_the_cut *l = &((jobs_test *)context)->l;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = power_loss_open(path, false, &err);
    pawl_status st = store ? PAWL_OK : PAWL_E_UNAVAILABLE;

    *l = (jobs_until_the_cut){0};
    while (st == PAWL_OK && l->at < JOB_STEPS) {
        st = take_step(store, l->at, &err);
        l->at += st == PAWL_OK;
    }
    l->answer = crash_run_answer_of(st);
    pawl_store_close(store);
}

static bool finish_steps(pawl_store *store, int at, const job_states *states, char *ret_text,
                         size_t size)
{
    pawl_error err = PAWL_ERROR_INIT;
    char found[JOB_TEXT];

    for (; at < JOB_STEPS; at++)
        if (take_step(store, at, &err) != PAWL_OK) {
            snprintf(ret_text, size, "step %d again: %s", at, err.message);
            return false;
        }
    if (describe_jobs(store, found) && strcmp(found, states->after[JOB_STEPS]) == 0)
        return true;
    snprintf(ret_text, size, "in the end: %.200s", found);
    return false;
}

/*
 * What is at `path` after a restart is what the states say of the steps that were done: a step that
 * was not is not there, one in doubt is there whole or not at all. Going on from there leads to
 * the last of them. False: `ret_text` says what is wrong.
 */
static bool check_states(const jobs_until_the_cut *l, const job_states *states, const char *path,
                         char *ret_text, size_t size)
{
    pawl_error err = PAWL_ERROR_INIT;
    char found[JOB_TEXT];
    int at = l->at;

    /* The clock continues from where it was. */
    crash_vfs_set_clock(MODEL_START_MS +
                        steps[at < JOB_STEPS ? at : JOB_STEPS - 1].minute * MINUTE_MS);
    pawl_store *store = power_loss_open(path, false, &err);
    bool good = store && describe_jobs(store, found);
    if (!good) {
        snprintf(ret_text, size, "the store cannot be read: %s", err.message);
    } else if (strcmp(found, states->after[at]) != 0) {
        good = at < JOB_STEPS && l->answer == ANSWER_IN_DOUBT &&
               strcmp(found, states->after[at + 1]) == 0;
        at++;
        if (!good)
            snprintf(ret_text, size, "after step %d: %.200s", l->at, found);
    }
    good = good && finish_steps(store, at, states, ret_text, size);
    pawl_store_close(store);
    return good;
}

/* ---- tests ---- */

static bool check_jobs(void *context, const char *path, char *ret_text, size_t size)
{
    jobs_test *r = context;

    return check_states(&r->l, &r->states, path, ret_text, size);
}

static void write_states_of_all_steps(const char *directory, job_states *states)
{
    char path[1024];

    crash_campaign_clear(directory, "live", path, sizeof path);
    assert_true(prepare_jobs(path));
    assert_true(write_states(states, path));
    for (int i = 1; i <= JOB_STEPS; i++) /* a step that changes nothing would show nothing */
        assert_string_not_equal(states->after[i - 1], states->after[i]);
}

static void lose_power(bool syncs_lie, long stride, crash_campaign_result *ret_result)
{
    static jobs_test r;
    const char *directory = test_directory();

    crash_vfs_install();
    write_states_of_all_steps(directory, &r.states);
    power_loss_run(directory, &(power_scenario){prepare_jobs, run_jobs, check_jobs, &r, syncs_lie},
                   stride, ret_result);
}

PAWL_TEST(an_occurrence_is_recorded_with_its_message_or_not_at_all)
{
    crash_campaign_result result;

    lose_power(false, test_stride(11), &result);
    summary_expect_survival("jobs", &result);
}

PAWL_TEST(a_disk_that_falsely_reports_a_sync_is_found)
{
    crash_campaign_result result;

    lose_power(true, 7, &result);
    assert_true(result.violations > 0);
}
