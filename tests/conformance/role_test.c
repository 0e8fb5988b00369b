/* tests/conformance/role_test.c - the privileges of pawl's three PostgreSQL roles. */
#include "queue_fixture.h"

/* Static wherever there is one: it outlives a failing test, for what is deferred. */
struct guest {
    fixture *f;
    pawl_store *store;
    const char *name;
};

static void leave(void *argument)
{
    struct guest *guest = argument;

    pawl_store_close(guest->store);
    guest->store = NULL;
}

/* A user of the server with one of the roles, and a store opened as that user. */
static void enter(struct guest *guest, fixture *f, const char *role)
{
    static int guests;
    pawl_error err = PAWL_ERROR_INIT;

    guest->f = f;
    /* Never the same twice: a pooler may still have a session of the one that was dropped. */
    guest->name = test_note("pawl_test_%s_%s_%d", role, fixture_store_options(f)->schema, ++guests);
    fixture_exec(f, "CREATE ROLE %s LOGIN", guest->name);
    fixture_exec(f, "GRANT %s TO %s", role, guest->name);
    assert_ok(pawl_store_open(test_note("%s user=%s", fixture_url(f), guest->name),
                              fixture_store_options(f), &guest->store, &err),
              &err);
    test_defer(leave, guest);
}

static void go(struct guest *guest)
{
    leave(guest);
    test_defer_cancel(guest);
    fixture_exec(guest->f, "DROP ROLE %s", guest->name);
}

static pawl_status try_claim(const struct guest *guest, pawl_error *err)
{
    pawl_messages *list = NULL;
    pawl_status st =
        pawl_queue_claim(guest->store, queue_owner(1), MINUTE_MS, 10, NULL, &list, err);

    if (st == PAWL_OK)
        queue_keep(list);
    return st;
}

PAWL_TEST_ON(postgres, a_sender_may_send_and_nothing_else)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("t", "x");
    static struct guest guest;

    enter(&guest, f, "pawl_send");
    message.id = queue_id(1);
    assert_ok(pawl_outbox_enqueue(guest.store, &message, NULL, &err), &err);
    assert_ok(pawl_outbox_enqueue(guest.store, &message, NULL, &err), &err);
    message.payload = "y";
    assert_status(PAWL_E_CONFLICT, pawl_outbox_enqueue(guest.store, &message, NULL, &err), &err);
    assert_status(PAWL_E_DENIED, try_claim(&guest, &err), &err);
    assert_says(&err, "pawl_work");
    assert_status(PAWL_E_DENIED, pawl_queue_reap(guest.store, NULL, NULL, &err), &err);
    assert_status(PAWL_E_DENIED, pawl_outbox_cancel(guest.store, &(pawl_work_id){1}, 1, NULL, &err),
                  &err);
    go(&guest);
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {queue} WHERE fence = 0"));
}

PAWL_TEST_ON(postgres, a_worker_may_send_work_and_clean_up)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("t", "x");
    static struct guest guest;
    pawl_messages *receipt = NULL;
    const pawl_receipt *items;

    enter(&guest, f, "pawl_work");
    for (int i = 0; i < 5; i++)
        assert_ok(pawl_outbox_enqueue(guest.store, &message, NULL, &err), &err);
    assert_ok(try_claim(&guest, &err), &err);
    assert_ok(pawl_queue_owned(guest.store, queue_owner(1), &receipt, &err), &err);
    items = queue_receipts(queue_keep(receipt));
    assert_ok(pawl_queue_renew(guest.store, queue_owner(1), items, 5, MINUTE_MS, NULL, &err), &err);
    assert_ok(pawl_queue_ack(guest.store, queue_owner(1), items, 1, NULL, &err), &err);
    assert_ok(pawl_queue_fail(guest.store, queue_owner(1), items + 1, 1, "x", NULL, &err), &err);
    assert_ok(pawl_queue_abandon(guest.store, queue_owner(1), items + 2, 1, "x", 1, NULL, &err),
              &err);
    assert_ok(pawl_queue_release(guest.store, queue_owner(1), items + 3, 1, NULL, &err), &err);
    fixture_advance(f, HOUR_MS);
    assert_ok(pawl_queue_reap(guest.store, NULL, NULL, &err), &err);
    assert_ok(pawl_queue_expire(guest.store, NULL, NULL, &err), &err);
    assert_ok(pawl_queue_prune(guest.store, 0, NULL, NULL, &err), &err);
    assert_ok(pawl_queue_compact_stats(guest.store, NULL, NULL, &err), &err);
    assert_status(PAWL_E_DENIED, pawl_outbox_purge(guest.store, &(pawl_work_id){1}, 1, NULL, &err),
                  &err);
    go(&guest);
    assert_int_equal(4, fixture_count(f, "SELECT count(*) FROM {body}"));
    queue_check(f);
}

PAWL_TEST_ON(postgres, a_worker_role_may_own_leases_and_only_an_administrator_revokes_them)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    static struct guest worker, admin, sender;
    pawl_lease_grant grant;
    pawl_leases *list = NULL;

    enter(&worker, f, "pawl_work");
    enter(&admin, f, "pawl_admin");
    enter(&sender, f, "pawl_send");
    assert_status(
        PAWL_E_DENIED,
        pawl_lease_acquire(sender.store, "it", queue_owner(1), MINUTE_MS, NULL, &grant, &err),
        &err);
    assert_ok(pawl_lease_acquire(worker.store, "it", queue_owner(1), MINUTE_MS, NULL, &grant, &err),
              &err);
    assert_ok(
        pawl_lease_renew(worker.store, "it", queue_owner(1), grant.fence, MINUTE_MS, &grant, &err),
        &err);
    assert_ok(pawl_lease_list(worker.store, NULL, &list, NULL, &err), &err);
    pawl_leases_free(list);
    assert_status(PAWL_E_DENIED, pawl_lease_force_release(worker.store, "it", NULL, NULL, &err),
                  &err);
    assert_ok(pawl_lease_force_release(admin.store, "it", NULL, NULL, &err), &err);
    assert_ok(pawl_lease_clean(worker.store, 0, NULL, NULL, &err), &err);
    go(&sender);
    go(&admin);
    go(&worker);
}

PAWL_TEST_ON(postgres, an_administrator_may_do_everything)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_message_spec message = queue_message("t", "x");
    pawl_outbox_stats *stats = NULL;
    pawl_messages *list = NULL;
    static struct guest guest;
    pawl_enqueued sent;
    size_t changed = 0;

    enter(&guest, f, "pawl_admin");
    assert_ok(pawl_outbox_enqueue(guest.store, &message, &sent, &err), &err);
    assert_ok(try_claim(&guest, &err), &err);
    assert_ok(pawl_outbox_cancel(guest.store, &sent.work_id, 1, &changed, &err), &err);
    assert_ok(pawl_outbox_retry(guest.store, &sent.work_id, 1, &changed, &err), &err);
    assert_ok(pawl_outbox_cancel(guest.store, &sent.work_id, 1, &changed, &err), &err);
    assert_ok(pawl_outbox_list(guest.store, NULL, &list, NULL, &err), &err);
    pawl_messages_free(list);
    assert_ok(pawl_outbox_get_stats(guest.store, &stats, &err), &err);
    pawl_outbox_stats_free(stats);
    assert_ok(pawl_outbox_purge(guest.store, &sent.work_id, 1, &changed, &err), &err);
    assert_int_equal(1, changed);
    go(&guest);
    assert_int_equal(0, fixture_count(f, "SELECT count(*) FROM {body}"));
}
