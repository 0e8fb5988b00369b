/* tests/conformance/job_invalid_test.c - jobs that cannot be: refused with a reason, nothing
 * stored. */
#include "job_fixture.h"

#include <string.h>

static void job_invalid_refuse(fixture *f, const pawl_job_definition *job, const char *says)
{
    pawl_error err = PAWL_ERROR_INIT;
    bool created = true;

    assert_status(PAWL_E_INVALID, pawl_job_put(fixture_store(f), job, &created, &err), &err);
    assert_says(&err, says);
    assert_true(created); /* untouched */
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {job}"));
}

PAWL_TEST(schedules_and_zones_that_cannot_be)
{
    static const struct {
        const char *schedule;
        const char *says;
    } bad[] = {
        {"", "empty"},       {"61 * * * *", "column 1"}, {"* * 31 2 *", "never"},
        {"every", "column"}, {"every -5m", "column"},    {"every 0s", "column"},
        {"@sometimes", "@"}, {"* * * * * * *", "field"}, {"every 20y", "column"},
    };
    fixture *f = fixture_open(NULL);
    pawl_job_definition job;

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        job = job_define("j", bad[i].schedule);
        job_invalid_refuse(f, &job, bad[i].says);
    }
    job = job_define("j", NULL);
    job_invalid_refuse(f, &job, "schedule");
    job = job_define("j", "@daily");
    job.zone = "Mars/Olympus";
    job_invalid_refuse(f, &job, "Mars/Olympus");
}

PAWL_TEST(names_of_1_to_100_characters)
{
    fixture *f = fixture_open(NULL);
    char name[PAWL_JOB_NAME_MAX * 2 + 2];
    pawl_job_definition job = job_define("", "@daily");

    job_invalid_refuse(f, &job, "1 to 100");
    job.name = NULL;
    job_invalid_refuse(f, &job, "1 to 100");
    job.name = "\xff";
    job_invalid_refuse(f, &job, "UTF-8");
    memset(name, 'x', 101);
    name[101] = '\0';
    job.name = name;
    job_invalid_refuse(f, &job, "101 characters");
    for (int i = 0; i < 100; i++)
        memcpy(name + 2 * i, "ä", 2);
    name[200] = '\0';
    job_put(f, &job);
    assert_string_equal(name, job_get(f, name)->name);
}

PAWL_TEST(numbers_out_of_range)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = job_define("j", "@daily");

#define REFUSED(field, value, says)                                                                \
    do {                                                                                           \
        pawl_job_definition wrong = job;                                                           \
        wrong.field = (value);                                                                     \
        job_invalid_refuse(f, &wrong, says);                                                       \
    } while (0)
    REFUSED(misfire_grace_ms, -1, "misfire_grace_ms");
    REFUSED(jitter_ms, -1, "jitter_ms");
    REFUSED(jitter_ms, DAY_MS + 1, "jitter_ms");
    REFUSED(ttl_ms, -1, "ttl_ms");
    REFUSED(timeout_ms, -1, "timeout_ms");
    REFUSED(timeout_ms, 7 * DAY_MS + 1, "timeout_ms");
    REFUSED(lease_ms, 0, "lease_ms");
    REFUSED(lease_ms, 8 * DAY_MS, "lease_ms");
    REFUSED(heartbeat_ms, 0, "heartbeat_ms");
    REFUSED(heartbeat_ms, 120000, "heartbeat_ms must be less than lease_ms");
    REFUSED(misfire_cap, 0, "misfire_cap");
    REFUSED(misfire_cap, 1001, "misfire_cap");
    REFUSED(keep_runs, 0, "keep_runs");
    REFUSED(keep_ms, -1, "keep_ms");
    REFUSED(max_attempts, 1001, "max_attempts");
    REFUSED(priority, 10, "priority");
    REFUSED(misfire, (pawl_misfire)3, "misfire");
    REFUSED(overlap, (pawl_overlap)3, "overlap");
    REFUSED(topic, NULL, "topic");
    REFUSED(topic, "", "topic");
    REFUSED(headers, "[1]", "headers");
    REFUSED(payload, NULL, "payload"); /* with a size */
#undef REFUSED
    job_put(f, &job);
}

PAWL_TEST(calls_with_missing_arguments)
{
    fixture *f = fixture_open(NULL);
    pawl_store *store = fixture_store(f);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_jobs *jobs = NULL;
    pawl_runs *runs = NULL;
    pawl_run_filter filter = PAWL_RUN_FILTER_INIT;
    pawl_job_filter job_filter = PAWL_JOB_FILTER_INIT;

    assert_status(PAWL_E_INVALID, pawl_job_put(store, NULL, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_job_tick(NULL, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_job_get(store, "", &jobs, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_job_get(store, "j", NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_job_trigger(NULL, "j", NULL, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_job_delete(store, NULL, NULL, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_run_list(store, NULL, NULL, NULL, NULL, &err), &err);
    assert_status(PAWL_E_NOT_FOUND, pawl_run_list(store, "j", NULL, &runs, NULL, &err), &err);
    assert_status(PAWL_E_NOT_FOUND, pawl_run_get(store, 1, &runs, &err), &err);
    filter.states = 1u << PAWL_RUN_STATE_COUNT;
    assert_status(PAWL_E_INVALID, pawl_run_list(store, NULL, &filter, &runs, NULL, &err), &err);
    filter = (pawl_run_filter){sizeof filter, .after = {"a"}};
    assert_status(PAWL_E_INVALID, pawl_run_list(store, NULL, &filter, &runs, NULL, &err), &err);
    job_filter.after = (pawl_page){"\xff"};
    assert_status(PAWL_E_INVALID, pawl_job_list(store, &job_filter, &jobs, NULL, &err), &err);
    job_filter.after = (pawl_page)PAWL_PAGE_INIT;
    job_filter.limit = 10001;
    assert_status(PAWL_E_INVALID, pawl_job_list(store, &job_filter, &jobs, NULL, &err), &err);
    assert_null(jobs);
    assert_null(runs);
}

PAWL_TEST(rows_written_with_sql_that_cannot_be_sent)
{
    fixture *f = fixture_open(NULL);

#define INSERT(column, value)                                                                      \
    fixture_refuses(f, "INSERT INTO {job} (name, schedule, topic, " column ") "                    \
                       "VALUES ('j', '@daily', 't', " value ")")
    assert_true(INSERT("priority", "10"));
    assert_true(INSERT("headers", "'[]'"));
    assert_true(INSERT("misfire", "'never'"));
    assert_true(INSERT("overlap", "'maybe'"));
    assert_true(INSERT("max_attempts", "0"));
    assert_true(INSERT("type", "4"));
    assert_false(INSERT("priority", "9"));
#undef INSERT
    assert_true(
        fixture_refuses(f, "INSERT INTO {job} (name, schedule, topic) VALUES ('', '@daily', 't')"));
}
