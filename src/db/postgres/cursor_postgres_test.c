/* src/db/postgres/cursor_postgres_test.c - which positions a cursor keeps, and when a scan goes
 * back.
 */
#include "cursor_postgres.h"

#include "test.h"

#define SECOND_US INT64_C(1000000)

/* A look at `second` that answers for the lanes from 1 to `count`, in which nothing is ready. */
static void look_at(pawli_cursor *cursor, pawli_cursor_scan *look, int second, int count)
{
    pawl_mono now = {second * SECOND_US};

    pawli_cursor_begin(cursor, 1, now, false, look);
    pawli_cursor_scan_restart(look);
    pawli_cursor_scan_epoch(look, (pawl_wall){(1000 + second) * SECOND_US}, 100 + second);
    pawli_cursor_scan_next(look, 100 + second);
    for (int i = 1; i <= count; i++)
        pawli_cursor_scan_lane(look, i, PAWL_TIME_UNSET);
    pawli_cursor_learn(cursor, look, 1, now);
}

/* Lanes are removed when they are empty. A look that goes back has to examine all lanes. */
PAWL_TEST(a_removed_lane_makes_one_scan_restart_and_leaves_no_position)
{
    pawli_cursor cursor;
    pawli_cursor_scan look = {0};

    pawli_cursor_init(&cursor, &pawli_cursor_usual);
    look_at(&cursor, &look, 1, 3);
    look_at(&cursor, &look, 2, 3);
    assert_int_equal(3, look.start_count);
    assert_false(look.goes_back);
    look_at(&cursor, &look, 40, 1); /* the sweep of all three is due, and two are gone */
    assert_true(look.goes_back);
    for (int second = 41; second < 60; second++) {
        look_at(&cursor, &look, second, 1);
        assert_false(look.goes_back);
        assert_int_equal(1, look.start_count);
    }
    look_at(&cursor, &look, 80, 1); /* the sweep of the one that is left */
    assert_true(look.goes_back);
    look_at(&cursor, &look, 81, 1);
    assert_false(look.goes_back);
    pawli_cursor_scan_done(&look);
    pawli_cursor_done(&cursor);
}

/* Paused for a while, or not asked for: it is looked at from its beginning, and has a position
 * again. */
PAWL_TEST(a_lane_that_comes_back_has_a_position_again)
{
    pawli_cursor cursor;
    pawli_cursor_scan look = {0};

    pawli_cursor_init(&cursor, &pawli_cursor_usual);
    look_at(&cursor, &look, 1, 3);
    look_at(&cursor, &look, 40, 1);
    look_at(&cursor, &look, 41, 3);
    assert_int_equal(1, look.start_count);
    look_at(&cursor, &look, 42, 3);
    assert_int_equal(3, look.start_count);
    pawli_cursor_scan_done(&look);
    pawli_cursor_done(&cursor);
}
