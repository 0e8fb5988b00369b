/* tests/conformance/job_unstorable_test.c - a job whose message cannot be stored hurts only itself.
 */
#include "job_fixture.h"

#include <string.h>

/* A row that no call of pawl lets in: written by hand, or by an older library. */
static void insert_by_hand(fixture *f, const char *name, const char *column, const char *value)
{
    fixture_exec(f,
                 "INSERT INTO {job} (name, schedule, topic, %s) "
                 "VALUES ('%s', '* * * * *', 't', %s)",
                 column, name, value);
}

/* The table's own checks keep such rows out, except those that were there before a check was. */
static void allow_anything(fixture *f)
{
    if (fixture_is_postgres(f))
        fixture_exec(f, "DO $$ DECLARE c text; BEGIN"
                        " FOR c IN SELECT conname FROM pg_constraint"
                        " WHERE conrelid = '{job}'::regclass AND contype = 'c'"
                        " LOOP EXECUTE 'ALTER TABLE {job} DROP CONSTRAINT ' || quote_ident(c);"
                        " END LOOP; END $$");
    else
        fixture_exec(f, "PRAGMA ignore_check_constraints = ON");
}

/* One of each kind that the engine does not take as a message. */
static int insert_bad(fixture *f)
{
    allow_anything(f);
    if (!fixture_is_postgres(f)) {
        insert_by_hand(f, "bad ttl", "ttl", "9223372036854775807");
        return 1;
    }
    insert_by_hand(f, "bad headers", "headers", "'{\"a\": \"\\u0000\"}'");
    /* Random, because an index stores what it can compress. */
    insert_by_hand(f, "bad destination", "destination",
                   "(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 250) i)");
    insert_by_hand(f, "bad ttl", "ttl", "interval '300000 years'");
    return 3;
}

static int64_t problems(fixture *f)
{
    return fixture_count(f, "SELECT count(*) FROM {job} WHERE problem IS NOT NULL");
}

PAWL_TEST(a_job_whose_message_cannot_be_stored_stops_no_other)
{
    fixture *f = fixture_open(NULL);

    int bad = insert_bad(f);
    job_add(f, "good", "* * * * *");
    job_tick(f);
    assert_int_equal(1, job_after(f, MINUTE_MS).runs);
    assert_int_equal(bad, problems(f));
    assert_int_equal(1, job_work(f));
    assert_string_equal("done@60", job_story(f, "good"));
    assert_string_equal("", job_story(f, "bad ttl"));
    assert_non_null(strstr(job_get(f, "bad ttl")->problem, "message"));
    assert_true(fixture_logged(f, PAWL_LOG_WARNING, "cannot be stored"));
}

PAWL_TEST(a_job_whose_message_cannot_be_stored_is_not_retried_at_every_pass)
{
    fixture *f = fixture_open(NULL);

    insert_bad(f);
    job_tick(f);
    job_after(f, MINUTE_MS);
    fixture_log_clear(f);
    for (int i = 0; i < 3; i++)
        assert_int_equal(0, job_after(f, MINUTE_MS).examined);
    assert_false(fixture_logged(f, PAWL_LOG_WARNING, "cannot be stored"));
    job_after(f, HOUR_MS);
    assert_true(fixture_logged(f, PAWL_LOG_WARNING, "cannot be stored"));
}

PAWL_TEST(a_job_corrected_with_sql_continues_at_once)
{
    fixture *f = fixture_open(NULL);

    insert_bad(f);
    job_tick(f);
    job_after(f, MINUTE_MS);
    fixture_exec(f, "UPDATE {job} SET ttl = NULL, headers = NULL, destination = NULL");
    assert_int_equal(0, problems(f));
    job_tick(f);
    assert_string_equal("ready@60", job_story(f, "bad ttl"));
    assert_int_equal(0, problems(f));
}

PAWL_TEST(an_invalid_job_with_queued_runs_is_not_retried_at_every_pass)
{
    fixture *f = fixture_open(NULL);
    pawl_job_definition job = job_define("j", "* * * * *");

    job.overlap = PAWL_OVERLAP_QUEUE;
    job_put(f, &job);
    job_tick(f);
    job_after(f, MINUTE_MS);
    job_after(f, MINUTE_MS); /* the second waits for the first */
    allow_anything(f);
    fixture_exec(f, "UPDATE {job} SET ttl = %s",
                 fixture_is_postgres(f) ? "interval '300000 years'" : "9223372036854775807");
    assert_int_equal(1, job_work(f)); /* which is an event of a run */
    job_tick(f);
    assert_int_equal(1, problems(f));
    assert_int_equal(0, job_tick(f).examined);
}
