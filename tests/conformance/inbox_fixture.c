/* tests/conformance/inbox_fixture.c - deliveries, as the tests of the inbox make them over and
 * over. */
#include "inbox_fixture.h"

#include <string.h>

#include "application_sql.h"

fixture *inbox_fixture(const pawl_store_options *opts)
{
    const fixture_options options = {.store = opts};
    fixture *f = fixture_open(&options);

    fixture_exec(f, "CREATE TABLE {orders} (n integer)");
    return f;
}

static void free_arrival(void *arrival)
{
    pawl_inbox_task_free(arrival);
}

static pawl_inbox_task *keep_arrival(pawl_inbox_task *arrival)
{
    test_defer(free_arrival, arrival);
    return arrival;
}

void inbox_let_go(pawl_inbox_task *arrival)
{
    test_defer_cancel(arrival);
    pawl_inbox_task_free(arrival);
}

pawl_inbox_task *inbox_begin(fixture *f, const char *id, const pawl_inbox_options *opts)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *arrival = NULL;

    assert_ok(pawl_inbox_begin(fixture_store(f), "shop", id, NULL, opts, &arrival, &err), &err);
    return keep_arrival(arrival);
}

pawl_inbox_task *inbox_call(fixture *f, const char *id, const pawl_inbox_options *opts)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *arrival = NULL;

    assert_ok(pawl_inbox_call(fixture_store(f), "shop", id, NULL, opts, &arrival, &err), &err);
    return keep_arrival(arrival);
}

pawl_inbox_task *inbox_join(fixture *f, const char *id, const pawl_inbox_options *opts)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_task *arrival = NULL;
    pawl_tx *tx = fixture_tx_begin(f, 0);

    assert_ok(pawl_tx_inbox_begin(tx, "shop", id, NULL, opts, &arrival, &err), &err);
    return keep_arrival(arrival);
}

bool inbox_write(fixture *f, pawl_tx *tx, const char *sql)
{
    return application_sql(tx, fixture_expand(f, sql));
}

int64_t inbox_orders(fixture *f)
{
    return fixture_count(f, "SELECT count(*) FROM {orders}");
}

void inbox_done(pawl_inbox_task *arrival, const char *response)
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_inbox_task_done(arrival, response, response ? strlen(response) : 0, &err), &err);
}

void inbox_fail(pawl_inbox_task *arrival, const char *error)
{
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawl_inbox_task_fail(arrival, error, &err), &err);
}

const char *inbox_response(const pawl_inbox_task *arrival)
{
    size_t size = 99;
    const char *response = pawl_inbox_task_response(arrival, &size);

    if (!response) {
        assert_int_equal(0, size);
        return "-";
    }
    return test_note("%.*s", (int)size, response);
}

static void free_records(void *records)
{
    pawl_inbox_records_free(records);
}

const pawl_inbox_record *inbox_record(fixture *f, const char *id)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_inbox_records *one = NULL;

    assert_ok(pawl_inbox_get(fixture_store(f), "shop", id, &one, &err), &err);
    test_defer(free_records, one);
    assert_int_equal(1, pawl_inbox_records_count(one));
    return pawl_inbox_records_at(one, 0);
}

size_t inbox_clean(fixture *f)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 99;

    assert_ok(pawl_inbox_clean(fixture_store(f), &changed, NULL, &err), &err);
    return changed;
}
