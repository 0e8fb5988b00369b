/* tests/harness/fixture_queue.c - what tests about other things do in one line: send, claim, have a
 * row refused.
 */
#include "fixture_private.h"

#include <string.h>

#include "test.h"

static void free_list(void *list)
{
    pawl_messages_free(list);
}

pawl_work_id fixture_send(fixture *f, const char *topic, const char *payload)
{
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_enqueued enqueued;

    message.topic = topic;
    message.payload = payload;
    message.payload_size = strlen(payload);
    assert_ok(pawl_outbox_enqueue(f->stores[0], &message, &enqueued, &err), &err);
    return enqueued.work_id;
}

pawl_messages *fixture_claim(fixture *f, pawl_owner owner, int64_t lease_ms, int limit)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;

    assert_ok(pawl_queue_claim(f->stores[0], owner, lease_ms, limit, NULL, &list, &err), &err);
    test_defer(free_list, list);
    return list;
}

pawl_receipt fixture_receipt(const pawl_messages *list, size_t index)
{
    const pawl_message *message = pawl_messages_at(list, index);

    if (!message)
        test_fail("message %zu was asked for; %zu were claimed", index, pawl_messages_count(list));
    return (pawl_receipt){pawl_message_work_id(message), pawl_message_fence(message)};
}

pawl_state fixture_state(fixture *f, pawl_work_id id)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *one = NULL;
    pawl_state state;

    assert_ok(pawl_outbox_get(f->stores[0], id, &one, &err), &err);
    state = pawl_message_state(pawl_messages_at(one, 0));
    pawl_messages_free(one);
    return state;
}

void fixture_refuse(fixture *f, const char *table, const char *event, const char *condition)
{
    if (f->is_postgres) {
        fixture_exec(f, "CREATE FUNCTION {refuse}() RETURNS trigger LANGUAGE plpgsql AS"
                        " 'BEGIN RAISE EXCEPTION USING ERRCODE = ''22023'', MESSAGE = ''no such"
                        " row''; END'");
        fixture_exec(f,
                     "CREATE TRIGGER refuse BEFORE %s ON {%s} FOR EACH ROW WHEN (%s)"
                     " EXECUTE FUNCTION {refuse}()",
                     event, table, condition);
    } else {
        fixture_exec(f,
                     "CREATE TRIGGER refuse BEFORE %s ON {%s} WHEN %s BEGIN"
                     " SELECT RAISE(ABORT, 'no such row'); END",
                     event, table, condition);
    }
}

void fixture_accept(fixture *f, const char *table)
{
    if (f->is_postgres)
        fixture_exec(f, "DROP TRIGGER refuse ON {%s}", table);
    else
        fixture_exec(f, "DROP TRIGGER refuse");
}
