/* tests/conformance/queue_fixture.h - messages, owners and calls for the tests of the queue. */
#ifndef PAWL_TEST_QUEUE_FIXTURE_H
#define PAWL_TEST_QUEUE_FIXTURE_H

#include <pawl/pawl.h>

#include "fixture.h"
#include "test.h"

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS (60 * MINUTE_MS)
#define DAY_MS (24 * HOUR_MS)

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* A message with everything else at its default. */
pawl_message_spec queue_message(const char *topic, const char *payload);
/* Send it; any failure ends the test. */
pawl_enqueued queue_send(fixture *f, const pawl_message_spec *message);
pawl_work_id queue_send_after(fixture *f, const char *topic, const char *payload, int64_t delay_ms);
pawl_work_id queue_send_priority(fixture *f, const char *topic, const char *payload, int priority);

/* The same owner for the same number; never zero. */
pawl_owner queue_owner(int number);
/* The same id for the same number; never zero, version 4. */
pawl_uuid queue_id(int number);

/* The stored message, until the test ends. */
const pawl_message *queue_get(fixture *f, pawl_work_id id);
/* Keep a list until the test ends. */
pawl_messages *queue_keep(pawl_messages *list);
/* The payload as text. */
const char *queue_payload(const pawl_message *message);
/* The payloads in order, with a space between: "a b c". Until the test ends. */
const char *queue_payloads(const pawl_messages *list);

/* Claim with options; any failure ends the test. */
pawl_messages *queue_claim(fixture *f, pawl_owner owner, int64_t lease_ms, int limit,
                           const pawl_claim_options *opts);
/* Claim what is for one destination. */
pawl_messages *queue_claim_for(fixture *f, pawl_owner owner, int64_t lease_ms, int limit,
                               const char *destination);
/* The receipts of a list, valid until the test ends. */
const pawl_receipt *queue_receipts(const pawl_messages *list);
/* Answer for the whole list; how many changed. */
size_t queue_ack(fixture *f, pawl_owner owner, const pawl_messages *list);
size_t queue_abandon(fixture *f, pawl_owner owner, const pawl_messages *list, const char *error,
                     int64_t delay_ms);
size_t queue_fail(fixture *f, pawl_owner owner, const pawl_messages *list, const char *error);
size_t queue_renew(fixture *f, pawl_owner owner, const pawl_messages *list, int64_t lease_ms);
size_t queue_release(fixture *f, pawl_owner owner, const pawl_messages *list);
/* One call each; how many changed. */
size_t queue_reap(fixture *f);
size_t queue_expire(fixture *f);
size_t queue_prune(fixture *f, int64_t keep_ms);
size_t queue_cancel(fixture *f, pawl_work_id id);
size_t queue_retry(fixture *f, pawl_work_id id);
size_t queue_purge(fixture *f, pawl_work_id id);
/* Send, claim and answer in one go; gives back the message. */
pawl_work_id queue_make(fixture *f, const char *topic, const char *payload, pawl_state state);

/* The contents of the tables as one text: the same before and after means that nothing changed. */
const char *queue_fingerprint(fixture *f);
/* Invariants between any two calls: a message is unfinished or finished, never both. */
void queue_check(fixture *f);
/* The same without ending the test: NULL, or what is wrong. */
const char *queue_check_note(fixture *f);

#define assert_says(error, text) queue_assert_says((error), (text), __FILE__, __LINE__)
void queue_assert_says(const pawl_error *error, const char *text, const char *file, int line);

#define assert_time(expected_us, wall) assert_int_equal((expected_us), (wall).us)

#endif
