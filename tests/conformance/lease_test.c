/* tests/conformance/lease_test.c - one owner at a time, by the database's clock. */
#include "lease_fixture.h"

#include <string.h>

PAWL_TEST(a_lease_is_taken_once)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_lease_grant grant = lease_take(f, "it", 1), none = {.fence = 77};

    assert_true(grant.taken && grant.fence > 0);
    assert_time(FIXTURE_START.us, grant.now);
    assert_time(FIXTURE_START.us + TTL_MS * 1000, grant.expires_at);
    assert_status(
        PAWL_E_HELD,
        pawl_lease_acquire(fixture_store(f), "it", queue_owner(2), TTL_MS, NULL, &none, &err),
        &err);
    assert_true(err.retryable);
    assert_says(&err, "30.000 s");
    assert_int_equal(77, none.fence); /* untouched */
    assert_int_equal(PAWL_OK, lease_try(f, "another", 2));
    assert_int_equal(PAWL_OK, lease_try(f, "IT", 2)); /* case matters */
}

PAWL_TEST(its_owner_extends_it_and_keeps_the_fence)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    int64_t fence = lease_take(f, "it", 1).fence;
    pawl_lease_grant again;

    fixture_advance(f, 20 * SECOND_MS);
    again = lease_take(f, "it", 1);
    assert_int_equal(fence, again.fence);
    assert_false(again.taken);
    assert_time(FIXTURE_START.us + 50 * 1000000, again.expires_at);
    /* Never shortened: the owner may rely on the end that was returned before. */
    assert_ok(
        pawl_lease_acquire(fixture_store(f), "it", queue_owner(1), SECOND_MS, NULL, &again, &err),
        &err);
    assert_time(FIXTURE_START.us + 50 * 1000000, again.expires_at);
    assert_ok(
        pawl_lease_renew(fixture_store(f), "it", queue_owner(1), fence, SECOND_MS, &again, &err),
        &err);
    assert_time(FIXTURE_START.us + 50 * 1000000, again.expires_at);
}

PAWL_TEST(a_renewed_lease_is_kept_and_another_is_lost)
{
    fixture *f = fixture_open(NULL);
    int64_t fence = lease_take(f, "it", 1).fence;

    for (int i = 0; i < 5; i++) {
        fixture_advance(f, TTL_MS - 1);
        assert_int_equal(PAWL_E_HELD, lease_try(f, "it", 2));
        assert_int_equal(PAWL_OK, lease_renew(f, "it", 1, fence));
    }
    fixture_advance(f, TTL_MS); /* at the end itself it has expired */
    assert_int_equal(PAWL_E_LOST, lease_renew(f, "it", 1, fence));
    assert_int_equal(PAWL_E_LOST, lease_release(f, "it", 1, fence));
    assert_true(lease_take(f, "it", 2).fence > fence);
}

PAWL_TEST(an_expired_lease_is_acquired_again_not_renewed)
{
    fixture *f = fixture_open(NULL);
    int64_t fence = lease_take(f, "it", 1).fence;
    pawl_lease_grant again;

    fixture_advance(f, TTL_MS);
    assert_int_equal(PAWL_E_LOST,
                     lease_renew(f, "it", 1, fence)); /* and no other owner had acquired it */
    again = lease_take(f, "it", 1);
    assert_true(again.taken && again.fence > fence);
    assert_int_equal(PAWL_E_LOST, lease_renew(f, "it", 1, fence));
    assert_int_equal(PAWL_OK, lease_renew(f, "it", 1, again.fence));
}

PAWL_TEST(a_released_lease_can_be_acquired_at_once)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    int64_t fence = lease_take(f, "it", 1).fence, next;
    pawl_lease_grant end;

    fixture_advance(f, SECOND_MS);
    assert_int_equal(PAWL_E_LOST, lease_release(f, "it", 2, fence));
    assert_int_equal(PAWL_E_LOST, lease_release(f, "it", 1, fence + 1));
    assert_ok(pawl_lease_release(fixture_store(f), "it", queue_owner(1), fence, &end, &err), &err);
    assert_time(end.now.us, end.expires_at);
    assert_int_equal(fence, end.fence);
    assert_status(PAWL_E_LOST,
                  pawl_lease_release(fixture_store(f), "it", queue_owner(1), fence, NULL, &err),
                  &err);
    assert_int_equal(PAWL_E_LOST, lease_renew(f, "it", 1, fence));
    next = lease_take(f, "it", 1).fence; /* also by the same owner it is another take */
    assert_true(next > fence);
    assert_int_equal(PAWL_E_LOST, lease_release(f, "it", 1, fence));
    assert_int_equal(PAWL_OK, lease_release(f, "it", 1, next));
}

PAWL_TEST(tokens_of_leases_and_claims_come_from_one_counter)
{
    fixture *f = fixture_open(NULL);
    int64_t last = 0;

    for (int i = 0; i < 5; i++) {
        char name[] = "lease 0";

        name[6] = (char)('0' + i);
        int64_t fence = lease_take(f, name, 1).fence;
        assert_true(fence > last);
        fixture_send(f, "t", "x");
        last = fixture_receipt(fixture_claim(f, queue_owner(2), MINUTE_MS, 1), 0).fence;
        assert_true(last > fence);
    }
}

PAWL_TEST(fences_never_go_back_after_pruning)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    int64_t last = 0;

    for (int i = 0; i < 3; i++) {
        size_t removed = 0;
        int64_t fence = lease_take(f, "it", 1 + i % 2).fence;

        assert_true(fence > last);
        last = fence;
        assert_ok(pawl_lease_clean(fixture_store(f), 0, &removed, NULL, &err), &err);
        assert_int_equal(0, removed); /* it is owned */
        assert_int_equal(PAWL_OK, lease_release(f, "it", 1 + i % 2, fence));
        assert_ok(pawl_lease_clean(fixture_store(f), SECOND_MS, &removed, NULL, &err), &err);
        assert_int_equal(0, removed); /* it ended just now */
        fixture_advance(f, SECOND_MS);
        assert_ok(pawl_lease_clean(fixture_store(f), SECOND_MS, &removed, NULL, &err), &err);
        assert_int_equal(1, removed);
        assert_null(lease_read(f, "it"));
        fixture_reopen(f);
    }
}

PAWL_TEST(a_lease_shows_its_owner_and_its_last_owner)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_lease_grant grant;
    const pawl_lease *lease;
    pawl_leases *none = NULL;

    assert_status(PAWL_E_NOT_FOUND, pawl_lease_get(fixture_store(f), "it", &none, &err), &err);
    assert_null(none);
    assert_ok(
        pawl_lease_acquire(fixture_store(f), "it", queue_owner(1), TTL_MS, "näme", &grant, &err),
        &err);
    fixture_advance(f, SECOND_MS);
    assert_int_equal(PAWL_OK, lease_renew(f, "it", 1, grant.fence));
    lease = lease_read(f, "it");
    assert_true(lease->owned && pawl_owner_equal(queue_owner(1), lease->owner));
    assert_string_equal("it", lease->name);
    assert_string_equal("näme", lease->owner_name);
    assert_int_equal(grant.fence, lease->fence);
    assert_time(FIXTURE_START.us, lease->taken_at);
    assert_time(FIXTURE_START.us + 1000000, lease->renewed_at);
    assert_time(FIXTURE_START.us + 31 * 1000000, lease->expires_at);
    assert_time(0, lease->released_at);
    assert_time(0, lease->forced_at);
    fixture_advance(f, SECOND_MS);
    assert_int_equal(PAWL_OK, lease_release(f, "it", 1, grant.fence));
    lease = lease_read(f, "it");
    assert_false(lease->owned);
    assert_time(FIXTURE_START.us + 2 * 1000000, lease->released_at);
    assert_time(FIXTURE_START.us + 2 * 1000000, lease->expires_at);
    lease_take(f, "it", 2);
    fixture_advance(f, TTL_MS);
    lease = lease_read(f, "it");
    assert_false(lease->owned); /* it ran out */
    assert_time(0, lease->released_at);
    assert_true(strchr(lease->owner_name, ':') != NULL); /* host:pid */
}

PAWL_TEST(a_lease_can_be_revoked_and_that_is_recorded)
{
    fixture *f = fixture_open(NULL);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_lease_force_options options = PAWL_LEASE_FORCE_OPTIONS_INIT;
    int64_t fence = lease_take(f, "it", 1).fence, next;
    const pawl_lease *lease;

    options.by = "ann";
    options.reason = "it hangs";
    options.fence = fence + 1;
    assert_status(PAWL_E_LOST,
                  pawl_lease_force_release(fixture_store(f), "it", &options, NULL, &err), &err);
    assert_says(&err, "nothing was changed");
    assert_int_equal(PAWL_OK, lease_renew(f, "it", 1, fence));
    fixture_advance(f, SECOND_MS);
    options.fence = fence;
    assert_ok(pawl_lease_force_release(fixture_store(f), "it", &options, NULL, &err), &err);
    assert_true(fixture_logged(f, PAWL_LOG_WARNING, "released by force"));
    assert_int_equal(PAWL_E_LOST, lease_renew(f, "it", 1, fence));
    assert_int_equal(PAWL_E_LOST, lease_release(f, "it", 1, fence));
    assert_status(PAWL_E_LOST,
                  pawl_lease_force_release(fixture_store(f), "it", &options, NULL, &err), &err);
    assert_says(&err, "no owner");
    next = lease_take(f, "it", 2).fence;
    assert_true(next > fence);
    lease = lease_read(f, "it");
    assert_true(lease->owned && lease->fence == next);
    assert_string_equal("ann", lease->forced_by);
    assert_string_equal("it hangs", lease->forced_reason);
    assert_time(FIXTURE_START.us + 1000000, lease->forced_at);
    assert_int_equal(fence, lease->forced_fence);
    assert_int_equal(PAWL_OK, lease_force(f, "it"));
    lease = lease_read(f, "it");
    assert_int_equal(next, lease->forced_fence);
    assert_null(lease->forced_reason);
    assert_int_equal(PAWL_E_NOT_FOUND, lease_force(f, "there is none"));
}

static const char *names_of(const pawl_leases *leases)
{
    const char *text = "";

    for (size_t i = 0; i < pawl_leases_count(leases); i++)
        text = test_note("%s%s%s", text, i > 0 ? " " : "", pawl_leases_at(leases, i)->name);
    return text;
}

static const char *list(fixture *f, const char *after, int limit, bool only_owned)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_lease_filter filter = PAWL_LEASE_FILTER_INIT;
    pawl_leases *leases = NULL;
    pawl_page next = {"unset"};

    if (after)
        snprintf(filter.after.text, sizeof filter.after.text, "%s", after);
    filter.limit = limit;
    filter.only_owned = only_owned;
    assert_ok(pawl_lease_list(fixture_store(f), &filter, &leases, &next, &err), &err);
    const char *names = names_of(leases);
    size_t count = pawl_leases_count(leases);
    assert_string_equal(
        count < (size_t)(limit ? limit : 100) ? "" : pawl_leases_at(leases, count - 1)->name,
        next.text);
    pawl_leases_free(leases);
    return names;
}

PAWL_TEST(leases_are_listed_by_name_page_by_page)
{
    static const char *const names[] = {"b", "a", "é", "B", "zz", "c"};
    fixture *f = fixture_open(NULL);
    int64_t fences[COUNT_OF(names)];

    assert_string_equal("", list(f, NULL, 0, false));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        fences[i] = lease_take(f, names[i], 1).fence;
    assert_int_equal(PAWL_OK, lease_release(f, "a", 1, fences[1]));
    assert_string_equal("B a b c zz é", list(f, NULL, 0, false));
    assert_string_equal("B b c zz é", list(f, NULL, 0, true));
    assert_string_equal("B a", list(f, NULL, 2, false));
    assert_string_equal("b c", list(f, "a", 2, false));
    assert_string_equal("zz é", list(f, "c", 2, false));
    assert_string_equal("", list(f, "é", 2, false));
    fixture_advance(f, TTL_MS);
    assert_string_equal("", list(f, NULL, 0, true));
}

PAWL_TEST(a_clock_that_steps_back_grants_no_second_lease)
{
    fixture *f = fixture_open(NULL);
    int64_t fence = lease_take(f, "it", 1).fence, next;

    fixture_advance(f, HOUR_MS);
    next = lease_take(f, "it", 2).fence;
    fixture_set(f, FIXTURE_START);
    assert_int_equal(PAWL_E_HELD, lease_try(f, "it", 1));
    assert_int_equal(PAWL_E_LOST, lease_renew(f, "it", 1, fence));
    assert_int_equal(PAWL_OK, lease_renew(f, "it", 2, next));
    assert_int_equal(PAWL_OK, lease_guard(f, "it", next));
    assert_int_equal(PAWL_E_LOST, lease_guard(f, "it", fence));
}

PAWL_TEST(names_may_be_of_any_script_up_to_the_limit)
{
    fixture *f = fixture_open(NULL);
    char longest[PAWL_LEASE_NAME_MAX * 2 + 1] = "";

    for (int i = 0; i < PAWL_LEASE_NAME_MAX; i++)
        memcpy(longest + (size_t)i * 2, "ö", 3);
    const char *longer = test_note("%sö", longest);
    assert_int_equal(PAWL_OK, lease_try(f, longest, 1));
    assert_string_equal(longest, lease_read(f, longest)->name);
    assert_int_equal(PAWL_E_INVALID, lease_try(f, longer, 1));
    assert_int_equal(PAWL_E_INVALID, lease_try(f, "", 1));
    assert_int_equal(PAWL_E_INVALID, lease_try(f, "\xff", 1));
    assert_int_equal(PAWL_E_INVALID, lease_try(f, NULL, 1));
    assert_int_equal(PAWL_OK, lease_try(f, "'; DROP TABLE \"x\" --\n%s", 1));
}

PAWL_TEST(bad_arguments_change_nothing)
{
    fixture *f = fixture_open(NULL);
    pawl_store *store = fixture_store(f);
    pawl_owner no_owner = {{0}};
    pawl_lease_grant grant = {.fence = 5};
    pawl_lease_filter filter = PAWL_LEASE_FILTER_INIT;
    pawl_lease_force_options force = PAWL_LEASE_FORCE_OPTIONS_INIT;
    pawl_leases *leases = NULL;
    pawl_error err = PAWL_ERROR_INIT;

#define REFUSED(call) assert_status(PAWL_E_INVALID, (call), &err)
    REFUSED(pawl_lease_acquire(NULL, "it", queue_owner(1), TTL_MS, NULL, &grant, &err));
    REFUSED(pawl_lease_acquire(store, "it", no_owner, TTL_MS, NULL, &grant, &err));
    REFUSED(pawl_lease_acquire(store, "it", queue_owner(1), 999, NULL, &grant, &err));
    REFUSED(pawl_lease_acquire(store, "it", queue_owner(1), DAY_MS + 1, NULL, &grant, &err));
    REFUSED(pawl_lease_acquire(store, "it", queue_owner(1), TTL_MS, "", &grant, &err));
    REFUSED(pawl_lease_acquire(store, "it", queue_owner(1), TTL_MS, NULL, NULL, &err));
    REFUSED(pawl_lease_renew(store, "it", queue_owner(1), 1, 0, &grant, &err));
    REFUSED(pawl_lease_renew(store, "it", queue_owner(1), 1, TTL_MS, NULL, &err));
    REFUSED(pawl_lease_release(store, "it", no_owner, 1, NULL, &err));
    REFUSED(pawl_lease_get(store, "it", NULL, &err));
    REFUSED(pawl_lease_list(store, &filter, NULL, NULL, &err));
    filter.limit = -1;
    REFUSED(pawl_lease_list(store, &filter, &leases, NULL, &err));
    filter = (pawl_lease_filter){sizeof filter, .after = {"\xff"}};
    REFUSED(pawl_lease_list(store, &filter, &leases, NULL, &err));
    force.by = "";
    REFUSED(pawl_lease_force_release(store, "it", &force, &leases, &err));
    REFUSED(pawl_lease_clean(store, -1, NULL, NULL, &err));
    REFUSED(pawl_lease_guard(NULL, "it", 1, &err));
    assert_null(leases);
    assert_int_equal(5, grant.fence);
    assert_null(lease_read(f, "it"));
    pawl_leases_free(NULL);
    assert_int_equal(0, pawl_leases_count(NULL));
    assert_null(pawl_leases_at(NULL, 0));
}

PAWL_TEST_ON(postgres, the_functions_of_postgres_do_the_same)
{
    fixture *f = fixture_open(NULL);
    const char *owner = "'6f0e33a4-0000-4000-8000-000000000001'";

    assert_int_equal(
        2, fixture_count(f, "SELECT result FROM {lease_acquire}('it', %s, '1 minute')", owner));
    assert_int_equal(1, fixture_count(f, "SELECT result FROM {lease_acquire}('it', %s)", owner));
    assert_int_equal(PAWL_E_HELD, lease_try(f, "it", 1));
    int64_t fence = fixture_count(f, "SELECT fence FROM {lease_get}('it')");
    assert_int_equal(1, fixture_count(f, "SELECT result FROM {lease_renew}('it', %s, %lld)", owner,
                                      (long long)fence));
    fixture_exec(f, "SELECT {lease_guard}('it', %lld)", (long long)fence);
    assert_true(fixture_refuses(f, "SELECT {lease_guard}('it', %lld)", (long long)fence + 1));
    assert_true(fixture_refuses(f, "SELECT {lease_guard}('other', %lld)", (long long)fence));
    assert_true(fixture_refuses(f, "SELECT * FROM {lease_acquire}('', %s)", owner));
    assert_true(fixture_refuses(f, "SELECT * FROM {lease_acquire}('it', NULL)"));
    assert_true(fixture_refuses(f, "SELECT * FROM {lease_acquire}('it', %s, '0 s')", owner));
    assert_int_equal(1, fixture_count(f, "SELECT count(*) FROM {lease_list}() WHERE name = 'it'"));
    assert_int_equal(1, fixture_count(f, "SELECT result FROM {lease_force}('it', 'dba', 'test')"));
    assert_true(fixture_refuses(f, "SELECT {lease_guard}('it', %lld)", (long long)fence));
    assert_int_equal(0, fixture_count(f, "SELECT result FROM {lease_release}('it', %s, %lld)",
                                      owner, (long long)fence));
    assert_int_equal(1, fixture_count(f, "SELECT {lease_clean}('0 s')"));
}
