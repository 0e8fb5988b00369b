/* tests/cut/cut_features.c - the calls of the cut scenario that receive, and those about jobs. */
#include "cut_calls.h"

#define SOURCE "shop"
#define JOB_OWNER queue_owner(2)

/* ---- receiving ---- */

/* The effect of an atomic delivery: a message of its own. */
static pawl_status send_effect(pawl_tx *tx, pawl_error *err)
{
    pawl_message_spec effect = queue_message("life", "9");

    effect.correlation_id = "9";
    effect.delay_ms = 100 * DAY_MS;
    return pawl_tx_enqueue(tx, &effect, NULL, err);
}

pawl_status cut_receive(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_inbox_task *arrival = NULL;
    pawl_status st;

    scenario_end_leases(s);
    st = pawl_inbox_begin(s->store, SOURCE, "atomic", NULL, NULL, &arrival, err);
    if (st == PAWL_OK && pawl_inbox_task_result(arrival) == PAWL_INBOX_NEW) {
        st = send_effect(pawl_inbox_task_tx(arrival), err);
        if (st == PAWL_E_IN_DOUBT)
            test_fail("a send inside the transaction of a delivery says that it is in doubt");
        if (st == PAWL_OK)
            st = pawl_inbox_task_done(arrival, "r", 1, err);
        if (st == PAWL_OK)
            *ret_changed = 2;
    } else if (st == PAWL_OK && pawl_inbox_task_result(arrival) != PAWL_INBOX_DUPLICATE) {
        test_fail("a delivery was answered with '%s'",
                  pawl_inbox_result_name(pawl_inbox_task_result(arrival)));
    }
    pawl_inbox_task_free(arrival);
    return st;
}

pawl_status cut_call(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_status st;

    scenario_end_leases(s);
    st = pawl_inbox_call(s->store, SOURCE, "call", NULL, NULL, &s->arrival, err);
    if (st == PAWL_OK && pawl_inbox_task_result(s->arrival) == PAWL_INBOX_NEW)
        *ret_changed = 1;
    return st;
}

/* If it is unknown whether it was done, the message is delivered again, which shows it. */
pawl_status cut_call_done(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_status st = PAWL_OK;
    size_t begun = 0;

    if (!s->arrival)
        st = cut_call(s, &begun, err);
    if (st == PAWL_OK && pawl_inbox_task_result(s->arrival) == PAWL_INBOX_NEW) {
        st = pawl_inbox_task_done(s->arrival, "r", 1, err);
        if (st == PAWL_OK)
            *ret_changed = 1;
    }
    pawl_inbox_task_free(s->arrival);
    s->arrival = NULL;
    return st;
}

pawl_status cut_call_again(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_inbox_task *arrival = NULL;
    pawl_status st = pawl_inbox_call(s->store, SOURCE, "call", NULL, NULL, &arrival, err);
    size_t size = 0;

    (void)ret_changed;
    if (st == PAWL_OK && (pawl_inbox_task_result(arrival) != PAWL_INBOX_DUPLICATE ||
                          !pawl_inbox_task_response(arrival, &size) || size != 1))
        test_fail("a duplicate got no cached response");
    pawl_inbox_task_free(arrival);
    return st;
}

/* ---- jobs ---- */

/* "each" runs every occurrence, "last" only the newest of those that are late. */
static pawl_status put_job(scenario *s, const char *name, pawl_overlap overlap, int64_t grace_ms,
                           size_t *ret_changed, pawl_error *err)
{
    pawl_job_definition job = PAWL_JOB_DEFINITION_INIT;
    bool created = false;

    job.name = name;
    job.schedule = "* * * * *";
    job.topic = "job";
    job.overlap = overlap;
    job.misfire_grace_ms = grace_ms;
    pawl_status st = pawl_job_put(s->store, &job, &created, err);
    *ret_changed = created;
    return st;
}

pawl_status cut_job_put(scenario *s, size_t *ret_changed, pawl_error *err)
{
    return put_job(s, "each", PAWL_OVERLAP_ALLOW, DAY_MS, ret_changed, err);
}

pawl_status cut_job_put_another(scenario *s, size_t *ret_changed, pawl_error *err)
{
    return put_job(s, "last", PAWL_OVERLAP_SKIP, 0, ret_changed, err);
}

void cut_job_three_minutes(scenario *s)
{
    fixture_advance(s->f, 3 * MINUTE_MS);
}

/* In doubt is resolved by the next tick: runs are not created again. */
pawl_status cut_job_tick(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_job_tick_result result = PAWL_JOB_TICK_RESULT_INIT;
    pawl_status st = pawl_job_tick(s->store, &result, err);

    *ret_changed = (size_t)(2 * result.runs + result.skips);
    return st;
}

pawl_status cut_job_trigger(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_status st = pawl_job_trigger(s->store, "each", NULL, NULL, err);

    *ret_changed = st == PAWL_OK;
    return st;
}

/* The history shows whether there is a run. */
pawl_status cut_job_resolve_trigger(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_runs *runs = NULL;
    pawl_status st = pawl_run_list(s->store, "each", NULL, &runs, NULL, err);
    bool there = false;

    for (size_t i = 0; i < pawl_runs_count(runs); i++)
        there |= pawl_runs_at(runs, i)->triggered;
    pawl_runs_free(runs);
    return st == PAWL_OK && !there ? cut_job_trigger(s, ret_changed, err) : st;
}

static void remember_run(scenario *s, const pawl_messages *list, size_t *ret_changed)
{
    *ret_changed = pawl_messages_count(list);
    if (*ret_changed > 0)
        s->run = fixture_receipt(list, 0);
}

pawl_status cut_job_claim(scenario *s, size_t *ret_changed, pawl_error *err)
{
    static const char *const topics[] = {"job"};
    pawl_claim_options options = PAWL_CLAIM_OPTIONS_INIT;
    pawl_messages *list = NULL;

    options.topics = topics;
    options.topic_count = 1;
    pawl_status st = pawl_queue_claim(s->store, JOB_OWNER, MINUTE_MS, 1, &options, &list, err);
    if (st == PAWL_OK)
        remember_run(s, list, ret_changed);
    pawl_messages_free(list);
    return st;
}

pawl_status cut_job_resolve_claim(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_messages *list = NULL;
    size_t owned = 0;
    pawl_status st = pawl_queue_owned(s->store, JOB_OWNER, &list, err);

    if (st == PAWL_OK)
        remember_run(s, list, &owned);
    pawl_messages_free(list);
    return st == PAWL_OK && owned == 0 ? cut_job_claim(s, ret_changed, err) : st;
}

pawl_status cut_job_ack(scenario *s, size_t *ret_changed, pawl_error *err)
{
    return pawl_queue_ack(s->store, JOB_OWNER, &s->run, 1, ret_changed, err);
}

pawl_status cut_job_disable(scenario *s, size_t *ret_changed, pawl_error *err)
{
    bool changed = false;
    pawl_status st = pawl_job_disable(s->store, "last", &changed, err);

    *ret_changed = changed;
    return st;
}

/* Deleted twice: the second time it is not there, which is what was wanted. */
pawl_status cut_job_delete(scenario *s, size_t *ret_changed, pawl_error *err)
{
    pawl_status st = pawl_job_delete(s->store, "each", NULL, err);

    *ret_changed = st == PAWL_OK;
    return st == PAWL_E_NOT_FOUND ? PAWL_OK : st;
}
