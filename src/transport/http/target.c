/* src/transport/http/target.c - the target of a send: URL, allowed addresses. */
#include "target.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <pawl/services.h>

#include "public_address.h"
#include "fail.h"
#include "scheme.h"
#include "scope.h"

/* ---- parsing: the URL, and optionally a socket path ---- */

static pawl_status target_no_memory(pawl_error *err)
{
    return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a URL");
}

void pawli_target_done(pawli_target *target)
{
    free(target->url);
    free(target->socket_path);
    *target = (pawli_target){NULL, NULL};
}

/* Adds the receivers' default path if there is none, and removes a fragment. */
static CURLUcode target_complete(CURLU *parts, const char *url)
{
    char *path = NULL;
    CURLUcode code = curl_url_set(parts, CURLUPART_URL, url, CURLU_DISALLOW_USER);

    if (code == CURLUE_OK)
        code = curl_url_set(parts, CURLUPART_FRAGMENT, NULL, 0);
    if (code == CURLUE_OK)
        code = curl_url_get(parts, CURLUPART_PATH, &path, 0);
    if (code == CURLUE_OK && strcmp(path, "/") == 0)
        code = curl_url_set(parts, CURLUPART_PATH, PAWLI_RECEIVE_PATH, 0);
    curl_free(path);
    return code;
}

static pawl_status parse_http(const char *url, char **ret_url, pawl_error *err)
{
    CURLU *parts = curl_url();
    char *whole = NULL;
    pawl_status st = PAWL_OK;

    if (!parts)
        return target_no_memory(err);
    CURLUcode code = target_complete(parts, url);
    if (code == CURLUE_OK)
        code = curl_url_get(parts, CURLUPART_URL, &whole, 0);
    if (code == CURLUE_OK)
        *ret_url = strdup(whole);
    if (code == CURLUE_OUT_OF_MEMORY || (code == CURLUE_OK && !*ret_url))
        st = target_no_memory(err);
    else if (code == CURLUE_USER_NOT_ALLOWED)
        st = pawli_fail(err, PAWL_E_INVALID,
                        "a URL must not contain a user name or password: use a secret of the "
                        "service map");
    else if (code != CURLUE_OK)
        st = pawli_fail(err, PAWL_E_INVALID, "the destination is not a valid URL: %s",
                        curl_url_strerror(code));
    curl_free(whole);
    curl_url_cleanup(parts);
    return st;
}

/* Parses "PATH" or "PATH:/http/path". `directory` and `prefix` are prepended. */
static pawl_status parse_socket(const char *rest, const char *directory, const char *prefix,
                                pawli_target *ret_target, pawl_error *err)
{
    const char *colon = strstr(rest, ":/");
    size_t size = colon ? (size_t)(colon - rest) : strlen(rest);
    char http[2048];

    if (asprintf(&ret_target->socket_path, "%s%s%.*s", directory, prefix, (int)size, rest) < 0) {
        ret_target->socket_path = NULL;
        return target_no_memory(err);
    }
    if (size == 0 || strlen(ret_target->socket_path) >= sizeof((struct sockaddr_un *)0)->sun_path)
        return pawli_fail(err, PAWL_E_INVALID,
                          "a socket path must have 1 to %zu bytes, including its directory",
                          sizeof((struct sockaddr_un *)0)->sun_path - 1);
    int used = snprintf(http, sizeof http, "http://localhost%s", colon ? colon + 1 : "/");
    if (used < 0 || (size_t)used >= sizeof http)
        return pawli_fail(err, PAWL_E_INVALID, "the HTTP path after the socket path is too long");
    return parse_http(http, &ret_target->url, err);
}

static pawl_status parse_pipe(const char *rest, const char *directory, pawli_target *ret_target,
                              pawl_error *err)
{
    const char *fallback = getenv("TMPDIR");
    const char *colon = strstr(rest, ":/");
    char prefix[] = "/" PAWLI_PIPE_PREFIX;

    if (memchr(rest, '/', colon ? (size_t)(colon - rest) : strlen(rest)))
        return pawli_fail(err, PAWL_E_INVALID, "a pipe name must not contain '/'");
    if (!*rest || colon == rest)
        return pawli_fail(err, PAWL_E_INVALID, "the pipe name is missing: use pipe://NAME");
    if (!directory)
        directory = fallback && *fallback ? fallback : "/tmp";
    return parse_socket(rest, directory, prefix, ret_target, err);
}

pawl_status pawli_target_parse(const char *url, const char *pipe_directory,
                               pawli_target *ret_target, pawl_error *err)
{
    char scheme[PAWLI_SCHEME_SIZE] = "";
    pawli_target target = {NULL, NULL};
    pawl_status st;

    if (!pawli_scheme_of(url, scheme))
        return pawli_fail(err, PAWL_E_INVALID, "the destination is not a URL");
    const char *rest = pawli_scheme_rest(url);
    if (strcmp(scheme, "unix") == 0 && rest[0] != '/')
        st = pawli_fail(err, PAWL_E_INVALID,
                        "a socket path must begin with '/': unix:///run/app.sock");
    else if (strcmp(scheme, "unix") == 0)
        st = parse_socket(rest, "", "", &target, err);
    else if (strcmp(scheme, "pipe") == 0)
        st = parse_pipe(rest, pipe_directory, &target, err);
    else
        st = parse_http(url, &target.url, err);
    if (st != PAWL_OK) {
        pawli_target_done(&target);
        return st;
    }
    *ret_target = target;
    return PAWL_OK;
}

/* ---- public IP addresses ---- */

/* From IANA's registry of special-purpose addresses; 224/3 is multicast and reserved space. */
static const struct {
    uint32_t network;
    int bits;
} special_v4[] = {
    {0x00000000, 8},  /* this network */
    {0x0a000000, 8},  /* private */
    {0x64400000, 10}, /* shared by providers */
    {0x7f000000, 8},  /* loopback */
    {0xa9fe0000, 16}, /* link-local: cloud metadata lives here */
    {0xac100000, 12}, /* private */
    {0xc0000000, 24}, /* protocol assignments */
    {0xc0000200, 24}, /* documentation */
    {0xc0586300, 24}, /* 6to4 relay */
    {0xc0a80000, 16}, /* private */
    {0xc6120000, 15}, /* benchmarks */
    {0xc6336400, 24}, /* documentation */
    {0xcb007100, 24}, /* documentation */
    {0xe0000000, 3},
};

static bool v4_is_public(uint32_t address)
{
    for (size_t i = 0; i < PAWLI_COUNT(special_v4); i++)
        if ((address ^ special_v4[i].network) >> (32 - special_v4[i].bits) == 0)
            return false;
    return true;
}

/* Only 2000::/3 is allocated for public use; these parts of it are not public. */
static const struct {
    uint8_t start[4];
    int bits;
} special_v6[] = {
    {{0x20, 0x01, 0x00, 0x00}, 23}, /* protocol assignments, including Teredo */
    {{0x20, 0x01, 0x0d, 0xb8}, 32}, /* documentation */
    {{0x20, 0x02, 0x00, 0x00}, 16}, /* 6to4: any IPv4 address inside */
    {{0x3f, 0xff, 0x00, 0x00}, 20}, /* documentation */
};

static uint32_t word_at(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static bool v6_is_public(const uint8_t bytes[16])
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};

    if (memcmp(bytes, mapped, sizeof mapped) == 0 || memcmp(bytes, nat64, sizeof nat64) == 0)
        return v4_is_public(word_at(bytes + 12));
    if (bytes[0] >> 5 != 1)
        return false;
    for (size_t i = 0; i < PAWLI_COUNT(special_v6); i++)
        if ((word_at(bytes) ^ word_at(special_v6[i].start)) >> (32 - special_v6[i].bits) == 0)
            return false;
    return true;
}

bool pawli_address_is_public(const struct sockaddr *address)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    switch (address->sa_family) {
    case AF_INET:
        memcpy(&v4, address, sizeof v4);
        return v4_is_public(ntohl(v4.sin_addr.s_addr));
    case AF_INET6:
        memcpy(&v6, address, sizeof v6);
        return v6_is_public(v6.sin6_addr.s6_addr);
    default:
        return false;
    }
}

bool pawli_address_text_is_public(const char *text)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (inet_pton(AF_INET, text, &v4) == 1)
        return v4_is_public(ntohl(v4.s_addr));
    return inet_pton(AF_INET6, text, &v6) == 1 && v6_is_public(v6.s6_addr);
}

/* ---- URLs with a non-public address ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);
    size_t wanted = strlen(end);

    return length >= wanted && strcasecmp(text + length - wanted, end) == 0;
}

static bool is_number(const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

/* Turns "[::1]" into "::1". */
static void strip_brackets(char *host)
{
    size_t length = strlen(host);

    if (host[0] != '[' || length < 2)
        return;
    memmove(host, host + 1, length - 2);
    host[length - 2] = '\0';
}

bool pawl_url_is_private(const char *url)
{
    CURLU *parts = url ? curl_url() : NULL;
    char *host = NULL;
    bool found = false;

    /* libcurl also accepts 127.1 and 0x7f000001, and normalizes them to four numbers. */
    if (parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK) {
        strip_brackets(host);
        found = strcasecmp(host, "localhost") == 0 || ends_with(host, ".localhost") ||
                (is_number(host) && !pawli_address_text_is_public(host));
    }
    curl_free(host);
    curl_url_cleanup(parts);
    return found;
}
