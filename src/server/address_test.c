/* src/server/address_test.c - parsing listen addresses. */
#include "address.h"
#include "test.h"

PAWL_TEST(addresses_are_read)
{
    static const struct {
        const char *text;
        int family;
        bool loopback;
    } good[] = {{"127.0.0.1:7295", AF_INET, true},
                {"127.9.9.9:0", AF_INET, true},
                {":80", AF_INET, true},
                {"localhost:80", AF_INET, true},
                {"0.0.0.0:65535", AF_INET, false},
                {"10.0.0.1:80", AF_INET, false},
                {"[::1]:80", AF_INET6, true},
                {"[::]:80", AF_INET6, false},
                {"[2001:db8::1]:80", AF_INET6, false}};
    static const char *const bad[] = {"",
                                      "80",
                                      "127.0.0.1",
                                      "127.0.0.1:",
                                      "::1:80",
                                      "[::1]",
                                      "[]:80",
                                      "127.0.0.1:65536",
                                      "1.2.3:80",
                                      "[1.2.3.4]:80",
                                      "[::1:80",
                                      "127.0.0.1:8x",
                                      "host:80",
                                      "[",
                                      "[:1",
                                      "]:1",
                                      "127.0.0.1:999999"};
    pawl_error err = PAWL_ERROR_INIT;
    pawli_address address;

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_ok(pawli_address_parse(good[i].text, &address, &err), &err);
        assert_int_equal(good[i].family, address.socket.ss_family);
        assert_int_equal(good[i].loopback, address.is_loopback);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (pawli_address_parse(bad[i], &address, &err) != PAWL_E_INVALID)
            test_fail("'%s' was accepted as an address", bad[i]);
}
