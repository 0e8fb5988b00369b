/* src/transport/http/url_private.c - does a URL name an address that is not public? */
#include <pawl/services.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <arpa/inet.h>
#include <curl/curl.h>

#include "address.h"

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

/* "[::1]" without its brackets. */
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

    /* libcurl also understands 127.1 and 0x7f000001, and writes them as four numbers. */
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
