/* tests/fault/fault_features.c - the calls of the inbox, of timers and of jobs. */
#include "fault_run.h"

#define SOURCE "shop"
#define TIMER queue_id(77)

#define COUNT_WHERE(condition) "SELECT count(*) FROM {message} WHERE " condition
#define RECORD_IS(id, state)                                                                       \
    "SELECT count(*) FROM {inbox_record} WHERE id = '" id "' AND state = " #state

/* ---- the inbox ---- */

/* Processed by an earlier call that failed afterwards: also accepted. */
static bool is_new_delivery(const scenario *s)
{
    pawl_inbox_result answer = pawl_inbox_task_result(s->arrival);

    if (answer != PAWL_INBOX_NEW && answer != PAWL_INBOX_DUPLICATE)
        test_fail("a delivery was answered with '%s'", pawl_inbox_result_name(answer));
    return answer == PAWL_INBOX_NEW;
}

static pawl_status receive_atomic(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_message_spec next = queue_message("life", "1");
    uint8_t hash[PAWL_HASH_SIZE];
    pawl_status st = pawl_inbox_hash("payload", 7, hash, err);

    (void)ret_changed;
    next.correlation_id = "1";
    if (st == PAWL_OK)
        st = pawl_inbox_begin(s->store, SOURCE, "atomic", hash, NULL, &s->arrival, err);
    if (st != PAWL_OK || !is_new_delivery(s))
        return st;
    st = fault_write_row(s, pawl_inbox_task_tx(s->arrival), 1, err);
    if (st == PAWL_OK)
        st = pawl_tx_enqueue(pawl_inbox_task_tx(s->arrival), &next, NULL, err);
    return st == PAWL_OK ? pawl_inbox_task_done(s->arrival, "response", 8, err) : st;
}

static pawl_status receive_around_a_call(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_status st = pawl_inbox_call(s->store, SOURCE, "call", NULL, NULL, &s->arrival, err);

    (void)ret_changed;
    if (st != PAWL_OK || !is_new_delivery(s))
        return st;
    st = pawl_inbox_task_renew(s->arrival, MINUTE_MS, err);
    return st == PAWL_OK ? pawl_inbox_task_done(s->arrival, NULL, 0, err) : st;
}

static pawl_status give_delivery_up(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_status st = pawl_inbox_begin(s->store, SOURCE, "dead", NULL, NULL, &s->arrival, err);

    (void)ret_changed;
    return st == PAWL_OK ? pawl_inbox_task_fail_permanently(s->arrival, "broken", err) : st;
}

static pawl_status mark_processed(scenario *s, size_t *ret_changed, pawl_error *err)
{
    bool processed = false;
    pawl_status st = pawl_inbox_already_processed(s->store, SOURCE, "small", NULL, &processed, err);

    (void)ret_changed;
    if (st == PAWL_OK)
        st = pawl_inbox_mark_processing(s->store, SOURCE, "small", err);
    return st == PAWL_OK ? pawl_inbox_mark_processed(s->store, SOURCE, "small", err) : st;
}

static pawl_status read_inbox(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_inbox_stats stats = PAWL_INBOX_STATS_INIT;
    pawl_inbox_records *list = NULL, *one = NULL;
    pawl_status st = pawl_inbox_list(s->store, NULL, &list, NULL, err);

    (void)ret_changed;
    if (st == PAWL_OK)
        st = pawl_inbox_get(s->store, SOURCE, "atomic", &one, err);
    if (st == PAWL_OK && pawl_inbox_records_count(list) != 4)
        test_fail("the list has %zu records", pawl_inbox_records_count(list));
    pawl_inbox_records_free(list);
    pawl_inbox_records_free(one);
    return st == PAWL_OK ? pawl_inbox_get_stats(s->store, &stats, err) : st;
}

static pawl_status requeue_record(scenario *s, size_t *ret_changed, pawl_error *err)
{
    (void)ret_changed;
    return pawl_inbox_retry(s->store, SOURCE, "dead", NULL, err);
}

static const scenario_step inbox_steps[] = {
    {"open", SCENARIO_READS, NULL, scenario_open, NULL, 0},
    {"receive", SCENARIO_WRITES, scenario_end_leases, receive_atomic,
     "SELECT (SELECT count(*) FROM {orders}) + (SELECT count(*) FROM {message})"
     " + (SELECT count(*) FROM {inbox_record} WHERE id = 'atomic' AND state = 2)",
     3},
    {"call out", SCENARIO_WRITES, scenario_end_leases, receive_around_a_call, RECORD_IS("call", 2),
     1},
    {"give up", SCENARIO_WRITES, scenario_end_leases, give_delivery_up, RECORD_IS("dead", 3), 1},
    {"mark", SCENARIO_WRITES, scenario_end_leases, mark_processed, RECORD_IS("small", 2), 1},
    {"reading", SCENARIO_READS, NULL, read_inbox, NULL, 0},
    {"requeue", SCENARIO_WRITES, NULL, requeue_record, RECORD_IS("dead", 0), 1},
    {.name = NULL},
};

const scenario_list fault_inbox = {inbox_steps, "1:0/0"};

/* ---- timers ---- */

static pawl_status schedule_timers(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_message_spec batch[2] = {queue_message("timers", "a"), queue_message("timers", "b")};

    (void)ret_changed;
    batch[0].id = TIMER;
    batch[1].id = queue_id(78);
    batch[0].correlation_id = "1";
    batch[1].correlation_id = "2";
    batch[0].delay_ms = batch[1].delay_ms = DAY_MS;
    return operation_schedule(s->store, batch, 2, NULL, err);
}

static pawl_status read_timers(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_timer_filter query = PAWL_TIMER_FILTER_INIT;
    pawl_scheduler *scheduler = NULL;
    pawl_messages *list = NULL;
    pawl_timer_total total;
    pawl_status st = pawl_scheduler_new_on_store(s->store, &scheduler, err);

    (void)ret_changed;
    query.with_payload = true;
    query.topic = "timers";
    query.limit = 1; /* a full page, and one more row than it has */
    if (st == PAWL_OK)
        st = pawl_timer_list(scheduler, &query, &list, NULL, err);
    pawl_messages_free(list);
    if (st == PAWL_OK)
        st = pawl_timer_count(scheduler, &query, &total, err);
    pawl_scheduler_free(scheduler);
    return st;
}

static pawl_status unschedule_timer(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_uuid id = TIMER;

    (void)ret_changed;
    return operation_unschedule(s->store, &id, 1, NULL, err);
}

static const scenario_step timer_steps[] = {
    {"open", SCENARIO_READS, NULL, scenario_open, NULL, 0},
    {"schedule", SCENARIO_WRITES, NULL, schedule_timers,
     COUNT_WHERE("state = 6 AND due_at > created_at"), 2},
    {"list timers", SCENARIO_READS, NULL, read_timers, NULL, 0},
    {"unschedule", SCENARIO_WRITES, NULL, unschedule_timer, COUNT_WHERE("state = 5"), 1},
    {.name = NULL},
};

const scenario_list fault_timer = {timer_steps, "1:5/0 2:6/0"};

/* ---- jobs ---- */

static pawl_status put_job(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_job_definition job = PAWL_JOB_DEFINITION_INIT;

    (void)ret_changed;
    job.name = "j";
    job.schedule = "* * * * *";
    job.zone = "Europe/Berlin";
    job.topic = "jobs";
    job.correlation_id = "1";
    return pawl_job_put(s->store, &job, NULL, err);
}

static pawl_status tick_jobs(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_job_tick_result result = PAWL_JOB_TICK_RESULT_INIT;

    (void)ret_changed;
    return pawl_job_tick(s->store, &result, err);
}

/* A week late: a skip and a run. */
static void let_occurrences_pass(scenario *s)
{
    fixture_set(s->f, (pawl_wall){FIXTURE_START.us + 7 * DAY_MS * 1000});
}

static pawl_status trigger_job(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_job_trigger_options force = PAWL_JOB_TRIGGER_OPTIONS_INIT;

    (void)ret_changed;
    force.force = true;
    return pawl_job_trigger(s->store, "j", &force, NULL, err);
}

static pawl_status read_jobs(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_jobs *jobs = NULL;
    pawl_runs *runs = NULL;
    pawl_status st = pawl_job_list(s->store, NULL, &jobs, NULL, err);

    (void)ret_changed;
    pawl_jobs_free(jobs);
    jobs = NULL;
    if (st == PAWL_OK)
        st = pawl_job_get(s->store, "j", &jobs, err);
    pawl_jobs_free(jobs);
    if (st == PAWL_OK)
        st = pawl_run_list(s->store, "j", NULL, &runs, NULL, err);
    if (st == PAWL_OK && pawl_runs_count(runs) != 3)
        test_fail("the history has %zu entries", pawl_runs_count(runs));
    pawl_runs_free(runs);
    return st;
}

static pawl_status disable_job(scenario *s, size_t *ret_changed, pawl_error *err)
{
    (void)ret_changed;
    return pawl_job_disable(s->store, "j", NULL, err);
}

static pawl_status clean_history(scenario *s, size_t *ret_changed, pawl_error *err)
{
    (void)ret_changed;
    return pawl_job_clean(s->store, NULL, NULL, err);
}

static pawl_status delete_job(scenario *s, size_t *ret_changed, pawl_error *err)
{
    (void)ret_changed;
    return pawl_job_delete(s->store, "j", NULL, err);
}

static const scenario_step job_steps[] = {
    {"open", SCENARIO_READS, NULL, scenario_open, NULL, 0},
    {"put", SCENARIO_WRITES, NULL, put_job, "SELECT count(*) FROM {job}", 1},
    {"first tick", SCENARIO_WRITES, NULL, tick_jobs,
     "SELECT count(*) FROM {job} WHERE next_occurrence_at IS NOT NULL", 1},
    {"tick", SCENARIO_WRITES, let_occurrences_pass, tick_jobs,
     "SELECT (SELECT count(*) FROM {job_run}) + (SELECT count(*) FROM {body})"
     " + (SELECT count(*) FROM {queue})"
     " + (SELECT count(*) FROM {job} WHERE last_occurrence_at IS NOT NULL)",
     5},
    {"trigger", SCENARIO_WRITES, NULL, trigger_job,
     "SELECT 2 * count(*) - 2 FROM {body} WHERE id IN (SELECT work_id FROM {job_run})", 2},
    {"list jobs", SCENARIO_READS, NULL, read_jobs, NULL, 0},
    {"disable", SCENARIO_WRITES, NULL, disable_job,
     "SELECT count(*) FROM {job} WHERE next_occurrence_at IS NULL AND last_occurrence_at IS NOT "
     "NULL",
     1},
    {"clean", SCENARIO_READS, NULL, clean_history, NULL, 0},
    {"delete", SCENARIO_WRITES, NULL, delete_job,
     "SELECT (SELECT count(*) FROM {outcome} WHERE state = 5) + 1"
     " - (SELECT count(*) FROM {job})",
     3},
    {.name = NULL},
};

const scenario_list fault_job = {job_steps, "1:5/0 1:5/0"};
