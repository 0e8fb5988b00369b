/* src/base/memory_test.c - buffers, arenas and option structs. */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "buffer.h"
#include "options.h"
#include "test.h"

PAWL_TEST(a_buffer_grows_and_is_handed_over)
{
    pawli_buffer buffer = {0};
    char *text;

    for (int i = 0; i < 1000; i++)
        pawli_buffer_format(&buffer, "%d,", i);
    pawli_buffer_append(&buffer, "a\0b", 3);
    pawli_buffer_text(&buffer, "!");
    assert_false(buffer.failed);
    assert_int_equal(buffer.size, 3890 + 4);
    text = pawli_buffer_take(&buffer);
    assert_memory_equal(text + 3890, "a\0b!", 5);
    assert_null(buffer.data);
    free(text);
}

PAWL_TEST(an_empty_buffer_becomes_an_empty_string)
{
    pawli_buffer buffer = {0};
    char *text = pawli_buffer_take(&buffer);

    assert_string_equal(text, "");
    free(text);
}

PAWL_TEST(an_impossible_size_fails_permanently)
{
    pawli_buffer buffer = {0};

    pawli_buffer_text(&buffer, "x");
    assert_null(pawli_buffer_reserve(&buffer, SIZE_MAX / 2));
    pawli_buffer_text(&buffer, "y");
    assert_true(buffer.failed);
    assert_null(pawli_buffer_take(&buffer));
}

PAWL_TEST(an_arena_gives_aligned_pieces_of_any_size)
{
    pawli_arena arena = {0};

    for (size_t size = 0; size < 40000; size = size * 2 + 1) {
        char *piece = pawli_arena_alloc(&arena, size);
        assert_int_equal((uintptr_t)piece % 16, 0);
        memset(piece, 0xaa, size);
    }
    assert_string_equal(pawli_arena_copy(&arena, "hello", 4), "hell");
    assert_null(pawli_arena_alloc(&arena, SIZE_MAX));
    pawli_arena_done(&arena);
}

struct old_options {
    size_t size;
    int first;
};
struct options {
    size_t size;
    int first;
    int second;
};

PAWL_TEST(an_older_shorter_struct_keeps_the_new_defaults)
{
    struct old_options old = {sizeof old, 5};
    struct options options = {sizeof options, 1, 2};
    pawl_error err = PAWL_ERROR_INIT;

    old.size = offsetof(struct options, second);
    assert_ok(pawli_options_copy(&options, sizeof options, &old, &err), &err);
    assert_int_equal(options.first, 5);
    assert_int_equal(options.second, 2);
    assert_int_equal(options.size, sizeof options);
}

PAWL_TEST(a_newer_struct_is_accepted_until_it_sets_an_unknown_field)
{
    struct {
        struct options known;
        int64_t unknown;
    } newer = {{sizeof newer, 7, 8}, 0};
    struct options options = {sizeof options, 1, 2};
    pawl_error err = PAWL_ERROR_INIT;

    assert_ok(pawli_options_copy(&options, sizeof options, &newer, &err), &err);
    assert_int_equal(options.second, 8);
    newer.unknown = 1;
    newer.known.first = 99;
    assert_status(PAWL_E_INVALID, pawli_options_copy(&options, sizeof options, &newer, &err), &err);
    assert_int_equal(options.first, 7);
}

PAWL_TEST(a_size_that_was_never_set_is_refused)
{
    struct options given = {0, 1, 2}, options = {sizeof options, 1, 2};
    pawl_error err = PAWL_ERROR_INIT;

    assert_status(PAWL_E_INVALID, pawli_options_copy(&options, sizeof options, &given, &err), &err);
    assert_non_null(strstr(err.message, "_INIT"));
}
