/* tests/cut/cut_steps.c - every kind of call, on nine messages and two jobs. */
#include "cut_run.h"

#include "cut_calls.h"

/* The work id of a message that is not claimed is read from outside. */
static void learn_free_messages(scenario *s)
{
    scenario_learn_message(s, 5);
    scenario_learn_message(s, 3);
}

static void after_an_hour(scenario *s)
{
    fixture_set(s->f, (pawl_wall){FIXTURE_START.us + 3600 * INT64_C(1000000)});
}

#define COUNT_WHERE(condition) "SELECT count(*) FROM {message} WHERE " condition
#define IS(number, rest) COUNT_WHERE("correlation_id = '" number "' AND " rest)

/* Occurrences that were recorded, and the messages of those that run. */
#define RUNS_AND_MESSAGES                                                                          \
    "SELECT (SELECT count(*) FROM {job_run}) +"                                                    \
    " (SELECT count(*) FROM {body} WHERE run_id IS NOT NULL)"

static const scenario_step steps[] = {
    {"open", SCENARIO_READS, NULL, scenario_open, NULL, 0},
    {"enqueue", SCENARIO_RESOLVES, NULL, cut_send_one, IS("1", "state = 0"), 1},
    {"enqueue batch", SCENARIO_RESOLVES, NULL, scenario_send_batch,
     COUNT_WHERE("correlation_id IN ('2', '3', '4', '5', '6')"), 5},
    {"same id again", SCENARIO_RESOLVES, NULL, cut_send_again, "SELECT count(*) - 6 FROM {message}",
     0},
    {"wrapped enqueue", SCENARIO_WRITES, NULL, cut_send_wrapped,
     "SELECT (SELECT count(*) FROM {orders}) +"
     " (SELECT count(*) FROM {message} WHERE correlation_id = '7')",
     2, .resolve = cut_resolve_wrapped},
    {"wrapped and undone", SCENARIO_READS, NULL, cut_send_undone,
     "SELECT (SELECT count(*) FROM {orders}) - 1 +"
     " (SELECT count(*) FROM {message} WHERE correlation_id = '8')",
     0},
    {"claim", SCENARIO_WRITES, NULL, scenario_claim_four, COUNT_WHERE("state = 1"), 4,
     .resolve = cut_resolve_claim_four},
    {"renew", SCENARIO_WRITES, NULL, NULL,
     COUNT_WHERE("{us:lease_until} = {us:created_at} + 120000000"), 4,
     .operation = {OPERATION_RENEW, 1, 4, 2 * MINUTE_MS}, .again = true},
    {"ack", SCENARIO_WRITES, NULL, NULL, IS("1", "state = 2"), 1,
     .operation = {OPERATION_ACK, 1, 1, 0}},
    {"abandon", SCENARIO_WRITES, NULL, NULL, IS("2", "state IN (0, 6) AND retries = 1"), 1,
     .operation = {OPERATION_ABANDON, 2, 1, 5000}},
    {"fail", SCENARIO_WRITES, NULL, NULL, IS("3", "state = 3"), 1,
     .operation = {OPERATION_FAIL, 3, 1, 0}},
    {"ack and claim", SCENARIO_WRITES, NULL, cut_ack_and_claim,
     COUNT_WHERE("(correlation_id = '4' AND state = 2) OR (correlation_id = '5' AND state = 1)"), 2,
     .resolve = cut_resolve_ack_and_claim},
    {"release", SCENARIO_WRITES, NULL, NULL, IS("5", "state = 0 AND retries = 0"), 1,
     .operation = {OPERATION_RELEASE, 5, 1, 0}},
    {"cancel", SCENARIO_WRITES, learn_free_messages, NULL, IS("5", "state = 5"), 1,
     .operation = {OPERATION_CANCEL, 5, 1, 0}},
    {"claim again", SCENARIO_WRITES, NULL, scenario_claim_rest, COUNT_WHERE("state = 1"), 2,
     .resolve = cut_resolve_claim_rest},
    {"read messages", SCENARIO_READS, NULL, cut_read_messages, NULL, 0},
    {"take a lease", SCENARIO_WRITES, NULL, scenario_lease_take,
     "SELECT count(*) FROM {lease} WHERE released_at IS NULL", 1, .again = true},
    {"renew a lease", SCENARIO_WRITES, NULL, scenario_lease_renew,
     "SELECT count(*) FROM {lease} WHERE {us:expires_at} = {us:taken_at} + 120000000", 1,
     .again = true},
    {"guard", SCENARIO_READS, NULL, cut_lease_guard, NULL, 0},
    {"release a lease", SCENARIO_WRITES, NULL, scenario_lease_release,
     "SELECT count(*) FROM {lease} WHERE released_at IS NOT NULL", 1},
    {"reap", SCENARIO_WRITES, scenario_after_the_lease, NULL,
     COUNT_WHERE("(correlation_id = '6' AND state = 3) OR"
                 " (correlation_id = '7' AND state IN (0, 6) AND retries = 1)"),
     2, .operation = {OPERATION_REAP, 0, 0, 0}},
    {"redrive", SCENARIO_WRITES, NULL, NULL, IS("3", "state = 0 AND retries = 0"), 1,
     .operation = {OPERATION_REDRIVE, 3, 1, 0}},
    {"list", SCENARIO_READS, NULL, cut_list, NULL, 0},
    {"stats", SCENARIO_READS, NULL, cut_stats, NULL, 0},
    {"schedule", SCENARIO_RESOLVES, NULL, cut_schedule,
     IS("9", "state = 6 AND {us:next_attempt_at} = {us:created_at} + 86400000000"), 1},
    {"unschedule", SCENARIO_WRITES, NULL, cut_unschedule, IS("9", "state = 5"), 1},
    {"retain", SCENARIO_WRITES, after_an_hour, NULL,
     "SELECT 4 - count(*) FROM {body} WHERE correlation_id IN ('1', '4', '5', '9')", 4,
     .operation = {OPERATION_RETAIN, 0, 0, 0}},
    {"receive", SCENARIO_WRITES, NULL, cut_receive,
     "SELECT (SELECT count(*) FROM {message} WHERE correlation_id = '9') +"
     " (SELECT count(*) FROM {inbox_record} WHERE id = 'atomic' AND state = 2)",
     2},
    {"call", SCENARIO_WRITES, NULL, cut_call,
     "SELECT count(*) FROM {inbox_record} WHERE id = 'call' AND state = 1", 1, .again = true},
    {"call done", SCENARIO_WRITES, NULL, cut_call_done,
     "SELECT count(*) FROM {inbox_record} WHERE id = 'call' AND state = 2", 1},
    {"call again", SCENARIO_WRITES, NULL, cut_call_again, NULL, 0},
    {"put a job", SCENARIO_WRITES, NULL, cut_job_put, "SELECT count(*) FROM {job}", 1},
    {"put another job", SCENARIO_WRITES, NULL, cut_job_put_another,
     "SELECT count(*) FROM {job} WHERE name = 'last'", 1},
    {"tick", SCENARIO_WRITES, cut_job_three_minutes, cut_job_tick, RUNS_AND_MESSAGES,
     2 * 4 + 1}, /* three and one run, one misfire */
    {"tick again", SCENARIO_WRITES, cut_job_three_minutes, cut_job_tick, RUNS_AND_MESSAGES " - 9",
     2 * 3 + 2}, /* three runs, one misfire, one overlap */
    {"trigger", SCENARIO_WRITES, NULL, cut_job_trigger,
     "SELECT count(*) FROM {job_run} WHERE triggered", 1, .resolve = cut_job_resolve_trigger},
    {"claim a run", SCENARIO_WRITES, NULL, cut_job_claim,
     "SELECT count(*) FROM {job_run} WHERE state = 1", 1, .resolve = cut_job_resolve_claim},
    {"ack a run", SCENARIO_WRITES, NULL, cut_job_ack,
     "SELECT count(*) FROM {job_run} WHERE state = 2", 1},
    {"disable a job", SCENARIO_WRITES, NULL, cut_job_disable,
     "SELECT count(*) FROM {job} WHERE NOT enabled", 1},
    {"delete a job", SCENARIO_WRITES, NULL, cut_job_delete, "SELECT 2 - count(*) FROM {job}", 1},
    {.name = NULL},
};

const scenario_list cut_scenario = {steps, "2:0/1 3:0/0 6:3/1 7:0/1 9:6/0"};
