/* tests/conformance/inbox_fixture.h - deliveries, as the tests of the inbox make them over and
 * over. */
#ifndef PAWL_TEST_INBOX_FIXTURE_H
#define PAWL_TEST_INBOX_FIXTURE_H

#include "queue_fixture.h"

/* A fixture with the application's table {orders} (n integer). */
fixture *inbox_fixture(const pawl_store_options *opts);

/* One delivery of `id` from "shop"; freed with the test. `opts` may be NULL. */
pawl_inbox_task *inbox_begin(fixture *f, const char *id, const pawl_inbox_options *opts);
pawl_inbox_task *inbox_call(fixture *f, const char *id, const pawl_inbox_options *opts);
/* In the application's transaction on handle 0, which is begun first. */
pawl_inbox_task *inbox_join(fixture *f, const char *id, const pawl_inbox_options *opts);
/* Free it before the test ends. */
void inbox_let_go(pawl_inbox_task *arrival);

/* A statement of the application in the transaction; whether the database took it. */
bool inbox_write(fixture *f, pawl_tx *tx, const char *sql);
int64_t inbox_orders(fixture *f);
void inbox_done(pawl_inbox_task *arrival, const char *response);
void inbox_fail(pawl_inbox_task *arrival, const char *error);
/* The response as text; "-" for none. Valid until the test ends. */
const char *inbox_response(const pawl_inbox_task *arrival);
/* The record of `id` from "shop", until the test ends. */
const pawl_inbox_record *inbox_record(fixture *f, const char *id);
size_t inbox_clean(fixture *f);

#define assert_answer(expected, arrival)                                                           \
    assert_string_equal(pawl_inbox_result_name(expected),                                          \
                        pawl_inbox_result_name(pawl_inbox_task_result(arrival)))

#endif
