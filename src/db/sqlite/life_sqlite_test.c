/* src/db/sqlite/life_sqlite_test.c - the real statements through the driver, from enqueue to
 * purge. */
#include "test.h"

#if PAWL_TEST_SQLITE
#include "fixture_sqlite_test.h"

#define START INT64_C(1800000000000000)
#define MINUTE (60 * SECOND)

static const uint8_t owner_a[16] = "owner-aaaaaaaaaa";
static const uint8_t owner_b[16] = "owner-bbbbbbbbbb";

/* ---- a clock that the test sets ---- */

static void set_clock(sqlite_fixture *g, int64_t now)
{
    exec(handle_of(g->conn), test_note("UPDATE test_clock SET now = %lld", (long long)now));
}

static sqlite_fixture *sqlite_fixture_with_clock(void)
{
    sqlite_fixture *g = sqlite_fixture_ready();

    exec(handle_of(g->conn), "CREATE TABLE test_clock (now); INSERT INTO test_clock VALUES (0);"
                             "DROP VIEW pawl_wall;"
                             "CREATE VIEW pawl_wall AS SELECT now FROM test_clock;"
                             "DROP VIEW pawl_boot;"
                             "CREATE VIEW pawl_boot AS SELECT 0 AS now, 'test' AS id");
    set_clock(g, START);
    return g;
}

/* Invariants that hold after every op. */
static void check_invariants(sqlite_fixture *g)
{
    static const char *const zero[] = {
        "SELECT count(*) FROM pawl_body WHERE (id IN (SELECT id FROM pawl_queue)) + "
        "(id IN (SELECT id FROM pawl_outcome)) <> 1",
        "SELECT count(*) FROM pawl_queue WHERE id NOT IN (SELECT id FROM pawl_body)",
        "SELECT count(*) FROM pawl_outcome WHERE id NOT IN (SELECT id FROM pawl_body)",
        "SELECT count(*) FROM pawl_queue WHERE (fence = 0) <> (owner = zeroblob(16))",
        "SELECT (SELECT count(*) FROM pawl_queue WHERE fence <> 0) - (SELECT count(*) FROM "
        "pawl_owned)",
        "SELECT count(*) FROM pawl_owned JOIN pawl_claim USING (fence) "
        "WHERE pawl_owned.owner <> pawl_claim.owner",
        "SELECT count(*) FROM pawl_lane_stats t WHERE running <> "
        "(SELECT count(*) FROM pawl_queue q WHERE q.lane_id = t.lane_id AND q.fence <> 0)",
    };

    for (size_t i = 0; i < PAWLI_COUNT(zero); i++) {
        if (number(handle_of(g->conn), zero[i]) != 0)
            test_fail("an invariant does not hold: %s", zero[i]);
    }
}

/* ---- ops ---- */

typedef struct message {
    const char *topic;
    const char *payload;
    uint8_t id;
    int priority;
    int64_t delay_us;
    int64_t ttl_us;
    int max_attempts;
} message;

static const char *const sent_names[] = {"position",  "message_id",   "topic",     "payload",
                                         "type",      "destination",  "headers",   "correlation_id",
                                         "priority",  "due_at",       "delay",     "expires_at",
                                         "ttl",       "max_attempts", "lease",     "retry_base",
                                         "retry_max", "retry_jitter", "other_lane"};
static const pawli_type sent_types[] = {PAWLI_INT,  PAWLI_UUID, PAWLI_TEXT, PAWLI_BYTES, PAWLI_INT,
                                        PAWLI_TEXT, PAWLI_TEXT, PAWLI_TEXT, PAWLI_INT,   PAWLI_TIME,
                                        PAWLI_SPAN, PAWLI_TIME, PAWLI_SPAN, PAWLI_INT,   PAWLI_SPAN,
                                        PAWLI_SPAN, PAWLI_SPAN, PAWLI_SPAN, PAWLI_BOOL};
#define SENT_COLUMNS 19

static pawli_value span(int64_t us)
{
    return us > 0 ? (pawli_value){.type = PAWLI_SPAN, .as.number = us} : pawli_null(PAWLI_SPAN);
}

typedef struct sent {
    int64_t ids[8];
    int64_t results[8];
} sent;

static pawl_status take_sent(void *context, const pawli_row *row, pawl_error *err)
{
    sent *s = context;
    int64_t position = pawli_row_int(row, 0);

    (void)err;
    if (s->ids[position] != 0)
        return PAWL_OK; /* the first row counts */
    s->ids[position] = pawli_row_int(row, 1);
    s->results[position] = pawli_row_int(row, 2);
    return PAWL_OK;
}

static sent enqueue(sqlite_fixture *g, const message *messages, size_t count)
{
    pawl_error err = PAWL_ERROR_INIT;
    uint8_t uuids[8][16] = {{0}};
    pawli_value values[8 * SENT_COLUMNS];
    pawli_rows rows = {count, SENT_COLUMNS, sent_names, sent_types, values};
    sent s = {{0}, {0}};

    for (size_t i = 0; i < count; i++) {
        const message *m = &messages[i];
        pawli_value *row = &values[i * SENT_COLUMNS];
        for (size_t k = 0; k < SENT_COLUMNS; k++)
            row[k] = pawli_null(sent_types[k]);
        uuids[i][15] = m->id;
        row[0] = pawli_int((int64_t)i);
        row[1] = pawli_uuid(uuids[i]);
        row[2] = pawli_text(m->topic);
        row[3] = pawli_bytes(m->payload, strlen(m->payload));
        row[4] = pawli_int(0);
        row[8] = pawli_int(m->priority);
        row[10] = span(m->delay_us);
        row[12] = span(m->ttl_us);
        row[13] = pawli_int(m->max_attempts ? m->max_attempts : 10);
        row[18] = pawli_bool(true);
    }
    pawli_op op = {.sql = PAWLI_SQL_ENQUEUE,
                   .writes = true,
                   .rows = &rows,
                   .on_row = take_sent,
                   .context = &s};
    assert_ok(run(g->conn, &op, &err), &err);
    check_invariants(g);
    return s;
}

typedef struct claimed {
    int count;
    int64_t ids[8];
    int64_t fence;
    int64_t lease_until;
} claimed;

static pawl_status take_claimed(void *context, const pawli_row *row, pawl_error *err)
{
    claimed *c = context;

    (void)err;
    c->ids[c->count++] = pawli_row_int(row, 0);
    assert_int_equal(pawli_row_int(row, 14), 1);
    c->fence = pawli_row_int(row, 15);
    c->lease_until = pawli_row_int(row, 18);
    return PAWL_OK;
}

static claimed claim_some(sqlite_fixture *g, const uint8_t *owner, int limit, const char *topic,
                          int write_lock)
{
    pawl_error err = PAWL_ERROR_INIT;
    claimed c = {0};
    static const char *const names[] = {"id", "fence"};
    static const pawli_type types[] = {PAWLI_INT, PAWLI_INT};
    pawli_rows done = {0, 2, names, types, NULL};
    pawli_param params[] = {
        {"owner", pawli_uuid(owner)},       {"owner_name", pawli_text("host:1")},
        {"lease", pawli_span_ms(60000)},    {"limit", pawli_int(limit)},
        {"topics", pawli_texts(&topic, 1)}, {"turn", pawli_int(write_lock)}};
    if (!topic)
        params[4].value = pawli_texts(NULL, 0);
    pawli_op op = {.sql = PAWLI_SQL_CLAIM,
                   .writes = true,
                   .params = params,
                   .param_count = PAWLI_COUNT(params),
                   .rows = &done,
                   .on_row = take_claimed,
                   .context = &c};

    assert_ok(run(g->conn, &op, &err), &err);
    check_invariants(g);
    return c;
}

static claimed claim(sqlite_fixture *g, int limit)
{
    return claim_some(g, owner_a, limit, NULL, 0);
}

/* ack, fail, abandon, renew or release one message; returns how many changed. */
static int64_t life_sqlite_answer(sqlite_fixture *g, enum pawli_sql sql, const uint8_t *owner,
                                  int64_t id, int64_t fence)
{
    static const char *const names[] = {"id", "fence"};
    static const pawli_type types[] = {PAWLI_INT, PAWLI_INT};
    pawl_error err = PAWL_ERROR_INIT;
    answers a = {0};
    pawli_value values[] = {pawli_int(id), pawli_int(fence)};
    pawli_rows rows = {1, 2, names, types, values};
    pawli_param params[] = {
        {"owner", pawli_uuid(owner)},          {"error", pawli_text("broken")},
        {"delay", pawli_null(PAWLI_SPAN)},     {"local_base", pawli_span_ms(1000)},
        {"local_max", pawli_span_ms(60000)},   {"local_jitter", pawli_span_ms(0)},
        {"remote_base", pawli_span_ms(2000)},  {"remote_max", pawli_span_ms(300000)},
        {"remote_jitter", pawli_span_ms(500)}, {"lease", pawli_span_ms(120000)}};
    pawli_op op = op_of(sql, true, &a);

    op.params = params;
    op.param_count = PAWLI_COUNT(params);
    op.rows = &rows;
    assert_ok(run(g->conn, &op, &err), &err);
    check_invariants(g);
    return a.sum;
}

static int64_t manage(sqlite_fixture *g, enum pawli_sql sql, int64_t id)
{
    static const char *const names[] = {"id"};
    pawl_error err = PAWL_ERROR_INIT;
    answers a = {0};
    pawli_value value = pawli_int(id);
    pawli_rows rows = {1, 1, names, number_types, &value};
    pawli_op op = op_of(sql, true, &a);

    op.rows = &rows;
    assert_ok(run(g->conn, &op, &err), &err);
    check_invariants(g);
    return a.sum;
}

static int64_t housekeeping(sqlite_fixture *g, enum pawli_sql sql)
{
    pawl_error err = PAWL_ERROR_INIT;
    answers a = {0};
    pawli_param params[] = {{"limit", pawli_int(100)}, {"keep", pawli_span_ms(3600000)}};
    pawli_op op = op_of(sql, true, &a);

    op.params = params;
    op.param_count = 2;
    assert_ok(run(g->conn, &op, &err), &err);
    check_invariants(g);
    return a.sum;
}

static int64_t state_of(sqlite_fixture *g, int64_t id)
{
    return number(handle_of(g->conn),
                  test_note("SELECT coalesce(max(state), -1) FROM pawl_message WHERE id = %lld",
                            (long long)id));
}

/* ---- the tests ---- */

PAWL_TEST(a_message_is_stored_once)
{
    sqlite_fixture *g = sqlite_fixture_with_clock();
    message first[] = {{"a", "one", 1}, {"a", "two", 2}};
    message again[] = {{"a", "one", 1}, {"b", "one", 1}, {"a", "other", 2}};

    sent s = enqueue(g, first, 2);
    assert_int_equal(s.results[0], 0);
    assert_int_equal(s.results[1], 0);
    sent t = enqueue(g, again, 3);
    assert_int_equal(t.results[0], 1);
    assert_int_equal(t.results[1], 2);
    assert_int_equal(t.results[2], 2);
    assert_int_equal(t.ids[0], s.ids[0]);
    claimed c = claim(g, 8);
    assert_int_equal(c.count, 2);
    assert_int_equal(life_sqlite_answer(g, PAWLI_SQL_ACK, owner_a, s.ids[0], c.fence), 1);
    assert_int_equal(enqueue(g, again, 1).results[0], 1); /* finished, and remains so */
    assert_int_equal(state_of(g, s.ids[0]), 2);
}

PAWL_TEST(claims_follow_priority_rotation_and_due_time)
{
    sqlite_fixture *g = sqlite_fixture_with_clock();
    message m[] = {{"a", "", 1},
                   {"b", "", 2},
                   {"a", "", 3, .priority = 5},
                   {"b", "", 4},
                   {"c", "", 5, .delay_us = MINUTE}};
    sent s = enqueue(g, m, 5);
    claimed c = claim_some(g, owner_a, 1, NULL, 0);

    assert_int_equal(c.ids[0], s.ids[2]);
    c = claim_some(g, owner_a, 8, "b", 0);
    assert_int_equal(c.count, 2);
    assert_int_equal(c.ids[0], s.ids[1]);
    assert_int_equal(c.ids[1], s.ids[3]);
    c = claim(g, 8);
    assert_int_equal(c.count, 1);
    assert_int_equal(c.ids[0], s.ids[0]);
    assert_int_equal(c.lease_until, START + MINUTE);
    int64_t fence = c.fence;
    assert_int_equal(claim(g, 8).count, 0); /* writes nothing */
    assert_int_equal(number(handle_of(g->conn), "SELECT fence FROM pawl_meta"), fence);
    set_clock(g, START + MINUTE);
    c = claim(g, 8);
    assert_int_equal(c.count, 1);
    assert_int_equal(c.ids[0], s.ids[4]);
    assert_int_equal(c.fence, fence + 1);
}

PAWL_TEST(only_the_owner_acknowledges)
{
    sqlite_fixture *g = sqlite_fixture_with_clock();
    message m[] = {{"a", "x", 1}, {"a", "x", 2}};
    sent s = enqueue(g, m, 2);
    claimed c = claim(g, 8);

    assert_int_equal(life_sqlite_answer(g, PAWLI_SQL_ACK, owner_b, s.ids[0], c.fence), 0);
    assert_int_equal(life_sqlite_answer(g, PAWLI_SQL_ACK, owner_a, s.ids[0], c.fence + 1), 0);
    assert_int_equal(life_sqlite_answer(g, PAWLI_SQL_ACK, owner_a, 999, c.fence), 0);
    assert_int_equal(life_sqlite_answer(g, PAWLI_SQL_RENEW, owner_a, s.ids[0], c.fence), 1);
    assert_int_equal(life_sqlite_answer(g, PAWLI_SQL_ACK, owner_a, s.ids[0], c.fence), 1);
    assert_int_equal(life_sqlite_answer(g, PAWLI_SQL_FAIL, owner_a, s.ids[1], c.fence), 1);
    assert_int_equal(state_of(g, s.ids[0]), 2);
    assert_int_equal(state_of(g, s.ids[1]), 3);
    assert_int_equal(number(handle_of(g->conn), "SELECT done * 10 + failed FROM pawl_lane_stats"),
                     11);
}

PAWL_TEST(an_abandoned_message_is_retried_and_finally_fails)
{
    sqlite_fixture *g = sqlite_fixture_with_clock();
    message m[] = {{"a", "x", 1, .max_attempts = 3}};
    sent s = enqueue(g, m, 1);
    int64_t now = START;

    for (int attempt = 0; attempt < 3; attempt++) {
        claimed c = claim(g, 1);
        assert_int_equal(c.count, 1);
        assert_int_equal(life_sqlite_answer(g, PAWLI_SQL_ABANDON, owner_a, s.ids[0], c.fence), 1);
        if (attempt < 2) {
            set_clock(g, now + (SECOND << attempt) - 1);
            assert_int_equal(claim(g, 1).count, 0);
        }
        now += SECOND << attempt;
        set_clock(g, now);
    }
    assert_int_equal(state_of(g, s.ids[0]), 3);
    assert_int_equal(number(handle_of(g->conn), "SELECT retries FROM pawl_outcome"), 3);
    assert_int_equal(number(handle_of(g->conn),
                            "SELECT error = 'broken' AND processed_by = 'host:1' "
                            "FROM pawl_outcome"),
                     1);
}

PAWL_TEST(reap_counts_the_attempt_and_release_does_not)
{
    sqlite_fixture *g = sqlite_fixture_with_clock();
    message m[] = {{"a", "x", 1, .max_attempts = 2}, {"a", "x", 2}};
    sent s = enqueue(g, m, 2);
    claimed c = claim(g, 8);

    assert_int_equal(life_sqlite_answer(g, PAWLI_SQL_RELEASE, owner_a, s.ids[0], c.fence), 1);
    c = claim(g, 1);
    assert_int_equal(c.ids[0], s.ids[0]);
    assert_int_equal(housekeeping(g, PAWLI_SQL_REAP), 0);
    set_clock(g, START + MINUTE / 2);
    assert_int_equal(life_sqlite_answer(g, PAWLI_SQL_RENEW, owner_a, s.ids[0], c.fence), 1);
    set_clock(g, START + MINUTE);
    assert_int_equal(housekeeping(g, PAWLI_SQL_REAP), 1); /* the second; the first was renewed */
    assert_int_equal(housekeeping(g, PAWLI_SQL_REAP), 0);
    set_clock(g, START + 3 * MINUTE);
    assert_int_equal(housekeeping(g, PAWLI_SQL_REAP), 1);
    c = claim(g, 8);
    assert_int_equal(c.count, 2);
    set_clock(g, START + 5 * MINUTE);
    assert_int_equal(housekeeping(g, PAWLI_SQL_REAP), 2);
    assert_int_equal(state_of(g, s.ids[0]), 3); /* that was its last attempt */
    assert_int_equal(state_of(g, s.ids[1]), 0);
    assert_int_equal(number(handle_of(g->conn), "SELECT count(*) FROM pawl_claim"), 0);
}

PAWL_TEST(cancel_expire_retry_prune_and_purge)
{
    sqlite_fixture *g = sqlite_fixture_with_clock();
    message m[] = {{"a", "x", 1}, {"a", "x", 2, .ttl_us = MINUTE}, {"a", "x", 3}, {"a", "x", 4}};
    sent s = enqueue(g, m, 4);
    claimed c = claim_some(g, owner_a, 1, NULL, 0);

    assert_int_equal(c.ids[0], s.ids[0]);
    assert_int_equal(manage(g, PAWLI_SQL_CANCEL, s.ids[0]), 1); /* in progress */
    assert_int_equal(manage(g, PAWLI_SQL_CANCEL, s.ids[2]), 1); /* ready */
    assert_int_equal(manage(g, PAWLI_SQL_CANCEL, s.ids[2]), 0);
    assert_int_equal(life_sqlite_answer(g, PAWLI_SQL_ACK, owner_a, s.ids[0], c.fence), 0);
    assert_int_equal(housekeeping(g, PAWLI_SQL_EXPIRE), 0);
    set_clock(g, START + MINUTE);
    assert_int_equal(housekeeping(g, PAWLI_SQL_EXPIRE), 1);
    assert_int_equal(state_of(g, s.ids[1]), 4);
    assert_int_equal(manage(g, PAWLI_SQL_RETRY, s.ids[1]), 1);
    assert_int_equal(manage(g, PAWLI_SQL_RETRY, s.ids[3]), 0); /* not dead */
    c = claim_some(g, owner_b, 8, NULL, 0);
    assert_int_equal(c.count, 2);
    assert_int_equal(life_sqlite_answer(g, PAWLI_SQL_FAIL, owner_b, s.ids[1], c.fence), 1);
    set_clock(g, START + 2 * MINUTE);
    assert_int_equal(housekeeping(g, PAWLI_SQL_EXPIRE),
                     1); /* failed, then past its new time to live */
    assert_int_equal(state_of(g, s.ids[1]), 4);
    assert_int_equal(life_sqlite_answer(g, PAWLI_SQL_ACK, owner_b, s.ids[3], c.fence), 1);
    assert_int_equal(housekeeping(g, PAWLI_SQL_PRUNE), 0);
    set_clock(g, START + 62 * MINUTE);
    assert_int_equal(housekeeping(g, PAWLI_SQL_PRUNE), 3); /* done and cancelled */
    assert_int_equal(state_of(g, s.ids[3]), -1);
    assert_int_equal(manage(g, PAWLI_SQL_PURGE, s.ids[1]), 1);
    assert_int_equal(manage(g, PAWLI_SQL_PURGE, s.ids[1]), 0);
    assert_int_equal(number(handle_of(g->conn), "SELECT count(*) FROM pawl_body"), 0);
    assert_true(enqueue(g, m, 1).ids[0] > s.ids[3]); /* ids are never reused */
}

PAWL_TEST(the_clock_never_goes_back)
{
    sqlite_fixture *g = sqlite_fixture_with_clock();
    message m[] = {{"a", "x", 1}};
    pawl_error err = PAWL_ERROR_INIT;
    answers a = {0};
    pawli_op op = op_of(PAWLI_SQL_NOW, false, &a);

    enqueue(g, m, 1);
    set_clock(g, START - MINUTE);
    claimed c = claim(g, 1);
    assert_int_equal(c.count, 1);
    set_clock(g, START + MINUTE / 2);
    assert_int_equal(life_sqlite_answer(g, PAWLI_SQL_RELEASE, owner_a, c.ids[0], c.fence), 1);
    set_clock(g, START);
    assert_ok(run(g->conn, &op, &err), &err);
    assert_int_equal(a.first[0], START + MINUTE / 2);
    assert_int_equal(claim(g, 1).count, 1);
}

PAWL_TEST(owned_lists_the_messages_of_an_owner)
{
    sqlite_fixture *g = sqlite_fixture_with_clock();
    message m[] = {{"a", "x", 1}, {"a", "x", 2}, {"a", "x", 3}};
    sent s = enqueue(g, m, 3);
    pawl_error err = PAWL_ERROR_INIT;
    claimed one = claim(g, 2);
    claimed seen = {0};
    pawli_param params[] = {{"owner", pawli_uuid(owner_a)}};
    pawli_op op = {.sql = PAWLI_SQL_OWNED,
                   .params = params,
                   .param_count = 1,
                   .on_row = take_claimed,
                   .context = &seen};

    claim_some(g, owner_b, 1, NULL, 0);
    assert_int_equal(life_sqlite_answer(g, PAWLI_SQL_ACK, owner_a, s.ids[0], one.fence), 1);
    assert_ok(run(g->conn, &op, &err), &err);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.ids[0], s.ids[1]);
}
#endif
