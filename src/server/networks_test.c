/* src/server/networks_test.c - parsing lists of addresses and networks. */
#include "networks.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "scope.h"
#include "test.h"

static bool has(const char *list, const char *address)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawli_networks networks;
    uint8_t bytes[16] = {0};

    assert_ok(pawli_networks_parse(list, &networks, &err), &err);
    if (inet_pton(AF_INET, address, bytes + 12) == 1)
        bytes[10] = bytes[11] = 0xff;
    else
        assert_int_equal(1, inet_pton(AF_INET6, address, bytes));
    return pawli_networks_have(&networks, bytes);
}

PAWL_TEST(an_address_is_found_in_its_networks)
{
    assert_false(has(NULL, "10.0.0.7"));
    assert_false(has("", "10.0.0.7"));
    assert_true(has("10.0.0.7", "10.0.0.7"));
    assert_false(has("10.0.0.7", "10.0.0.6"));
    assert_true(has("::1, 10.0.0.0/8", "10.255.0.1"));
    assert_true(has("::1, 10.0.0.0/8", "::1"));
    assert_false(has("::1, 10.0.0.0/8", "11.0.0.1"));
    assert_true(has("192.168.4.0/22", "192.168.7.255"));
    assert_false(has("192.168.4.0/22", "192.168.8.0"));
    assert_true(has("2001:db8::/33", "2001:db8:7fff::1"));
    assert_false(has("2001:db8::/33", "2001:db8:8000::1"));
    assert_true(has("0.0.0.0/0", "9.9.9.9"));
    assert_false(has("0.0.0.0/0", "2001:db8::1"));
    assert_true(has("::/0", "9.9.9.9"));
}

PAWL_TEST(an_invalid_address_is_refused)
{
    static const char *const bad[] = {"10.0.0", "10.0.0.0/33", "::/129", "10.0.0.0/",  "10.0.0.0/x",
                                      "/8",     "proxy",       "1;2",    "10.0.0.0/-1"};
    pawl_error err = PAWL_ERROR_INIT;
    pawli_networks networks;
    char many[8 * (PAWLI_NETWORKS_MAX + 1) + 1];

    for (size_t i = 0; i < PAWLI_COUNT(bad); i++)
        assert_status(PAWL_E_INVALID, pawli_networks_parse(bad[i], &networks, &err), &err);
    for (int i = 0; i <= PAWLI_NETWORKS_MAX; i++)
        snprintf(many + (size_t)i * 8, 9, "1.1.1.1,");
    assert_status(PAWL_E_INVALID, pawli_networks_parse(many, &networks, &err), &err);
}
