/* src/base/uuid_test.c - UUIDv7: form, order, text. */
#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "uuid.h"
#include "platform.h"

static int64_t fake_ms;

static pawl_wall fake_wall(void)
{
    return (pawl_wall){fake_ms * 1000};
}

static void restore_world(void *unused)
{
    (void)unused;
    pawli_platform_install(NULL);
}

static void install_fake_wall(int64_t ms)
{
    static pawli_platform world;

    world = pawli_platform_default;
    world.wall_now = fake_wall;
    fake_ms = ms;
    pawli_platform_install(&world);
    test_defer(restore_world, NULL);
}

PAWL_TEST(a_new_id_has_version_7_and_the_right_variant)
{
    uint8_t id[16];

    pawli_uuid_new(id);
    assert_int_equal(id[6] >> 4, 7);
    assert_int_equal(id[8] >> 6, 2);
}

PAWL_TEST(ids_grow_strictly_even_when_the_clock_stands_or_steps_back)
{
    uint8_t last[16], next[16];

    install_fake_wall(4000000000000); /* far ahead of what other tests have used */
    pawli_uuid_new(last);
    for (int i = 0; i < 20000; i++) {
        if (i == 10000)
            fake_ms -= 86400000;
        pawli_uuid_new(next);
        assert_true(memcmp(last, next, 16) < 0);
        memcpy(last, next, 16);
    }
}

PAWL_TEST(the_time_is_in_the_first_48_bits)
{
    uint8_t id[16];
    int64_t ms = 0;

    install_fake_wall(5000000000000);
    pawli_uuid_new(id);
    for (int i = 0; i < 6; i++)
        ms = ms << 8 | id[i];
    assert_true(ms >= 5000000000000 && ms < 5000000001000);
}

static const char *make_many(void *context, size_t index)
{
    uint8_t(*ids)[16] = context;

    for (size_t i = 0; i < 1000; i++)
        pawli_uuid_new(ids[index * 1000 + i]);
    return NULL;
}

static int uuid_compare(const void *a, const void *b)
{
    return memcmp(a, b, 16);
}

PAWL_TEST(threads_never_get_the_same_id)
{
    static uint8_t ids[8000][16];

    test_threads(8, make_many, ids);
    qsort(ids, 8000, 16, uuid_compare);
    for (int i = 1; i < 8000; i++)
        assert_true(memcmp(ids[i - 1], ids[i], 16) != 0);
}

PAWL_TEST(text_and_bytes_convert_both_ways)
{
    pawl_uuid id = pawl_uuid_new(), back;
    char text[PAWL_UUID_TEXT_SIZE];
    pawl_error err = PAWL_ERROR_INIT;

    pawl_uuid_format(id, text);
    assert_int_equal(strlen(text), 36);
    assert_ok(pawl_uuid_parse(text, &back, &err), &err);
    assert_true(pawl_uuid_equal(id, back));
    assert_ok(pawl_uuid_parse("0192D3C4-5E6F-7A8B-9C0D-1E2F3A4B5C6D", &back, &err), &err);
    pawl_uuid_format(back, text);
    assert_string_equal(text, "0192d3c4-5e6f-7a8b-9c0d-1e2f3a4b5c6d");
}

PAWL_TEST(an_invalid_uuid_is_refused_and_nothing_is_written)
{
    static const char *const bad[] = {"",
                                      "0192d3c4",
                                      "0192d3c45e6f7a8b9c0d1e2f3a4b5c6d",
                                      "0192d3c4-5e6f-7a8b-9c0d-1e2f3a4b5c6g",
                                      "0192d3c4-5e6f-7a8b-9c0d-1e2f3a4b5c6d0",
                                      "0192d3c4_5e6f-7a8b-9c0d-1e2f3a4b5c6d",
                                      "-192d3c4-5e6f-7a8b-9c0d-1e2f3a4b5c6d"};
    pawl_error err = PAWL_ERROR_INIT;
    pawl_owner owner = {{7}};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_status(PAWL_E_INVALID, pawl_owner_parse(bad[i], &owner, &err), &err);
    assert_status(PAWL_E_INVALID, pawl_owner_parse(NULL, &owner, &err), &err);
    assert_int_equal(owner.bytes[0], 7);
}

PAWL_TEST(the_zero_owner_is_no_owner)
{
    pawl_owner zero = {{0}};

    assert_true(pawl_owner_is_zero(zero));
    assert_false(pawl_owner_is_zero(pawl_owner_new()));
}
