/* tests/conformance/lane_fixture.c - helpers shared by the tests of lane lifetimes. */
#include "lane_fixture.h"

#define IDLE_MS (6 * MINUTE_MS)
#define STEPS 3 /* of a removal: retiring, epoch, gone */
#define PATIENCE 200

int lane_count(fixture *f)
{
    return (int)fixture_count(f, "SELECT count(*) FROM {lane}");
}

void lanes_fold(fixture *f, int times)
{
    pawl_error err = PAWL_ERROR_INIT;

    for (int i = 0; i < times; i++)
        assert_ok(pawl_queue_compact_stats(fixture_store(f), NULL, NULL, &err), &err);
}

void lanes_clean(fixture *f)
{
    lanes_fold(f, 1); /* finished messages are counted */
    fixture_advance(f, IDLE_MS);
    lanes_fold(f, STEPS);
    if (!fixture_is_postgres(f))
        return;
    for (int i = 0; i < PATIENCE &&
                    fixture_count(f, "SELECT count(*) FROM {lane_use} WHERE epoch IS NOT NULL") > 0;
         i++)
        lanes_fold(f, 1);
}

const char *lanes_take(fixture *f)
{
    pawl_messages *list = fixture_claim(f, queue_owner(3), DAY_MS, 100);

    queue_ack(f, queue_owner(3), list);
    return queue_payloads(list);
}

const char *lanes_totals(fixture *f)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_outbox_stats *stats = NULL;
    const char *text = "";

    fixture_reopen(f); /* a store remembers its last result for a moment */
    assert_ok(pawl_outbox_get_stats(fixture_store(f), &stats, &err), &err);
    for (size_t i = 0; i < pawl_outbox_stats_count(stats); i++) {
        const pawl_topic_stats *one = pawl_outbox_stats_at(stats, i);
        text = test_note("%s%s%s %lld %lld", text, *text ? ", " : "", one->topic,
                         (long long)one->total_done, (long long)one->total_failed);
    }
    pawl_outbox_stats_free(stats);
    return text;
}
