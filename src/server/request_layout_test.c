/* src/server/request_layout_test.c - which versions of libmicrohttpd are supported. */
#include <microhttpd.h>

#include "request_check.h"
#include "test.h"

PAWL_TEST(only_versions_that_requests_cannot_be_smuggled_past_are_supported)
{
    assert_true(pawli_layout_is_supported("0.9.75"));
    assert_true(pawli_layout_is_supported("1.0.0"));
    assert_true(pawli_layout_is_supported("1.0.1"));
    assert_true(pawli_layout_is_supported("2.0.0"));
    assert_false(pawli_layout_is_supported("0.9.74"));
    assert_false(pawli_layout_is_supported("0.9.76"));
    assert_false(pawli_layout_is_supported("0.9.77"));
    assert_false(pawli_layout_is_supported(""));
}

PAWL_TEST(the_version_of_this_machine_is_supported)
{
    assert_true(pawli_layout_is_supported(MHD_get_version()));
}
