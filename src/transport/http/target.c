/* src/transport/http/target.c - where an HTTP request goes: a URL, and maybe a socket's path. */
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include <curl/curl.h>

#include "fail.h"
#include "scheme.h"

static pawl_status no_memory(pawl_error *err)
{
    return pawli_fail(err, PAWL_E_NOMEM, "no memory for a URL");
}

void pawli_target_done(pawli_target *target)
{
    free(target->url);
    free(target->socket_path);
    *target = (pawli_target){NULL, NULL};
}

/* Add the path where receivers listen, if there is none, and take a fragment away. */
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
        return no_memory(err);
    CURLUcode code = target_complete(parts, url);
    if (code == CURLUE_OK)
        code = curl_url_get(parts, CURLUPART_URL, &whole, 0);
    if (code == CURLUE_OK)
        *ret_url = strdup(whole);
    if (code == CURLUE_OUT_OF_MEMORY || (code == CURLUE_OK && !*ret_url))
        st = no_memory(err);
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

/* "PATH" or "PATH:/http/path". `directory` and `prefix` are put before it. */
static pawl_status parse_socket(const char *rest, const char *directory, const char *prefix,
                                pawli_target *ret_target, pawl_error *err)
{
    const char *colon = strstr(rest, ":/");
    size_t size = colon ? (size_t)(colon - rest) : strlen(rest);
    char http[2048];

    if (asprintf(&ret_target->socket_path, "%s%s%.*s", directory, prefix, (int)size, rest) < 0) {
        ret_target->socket_path = NULL;
        return no_memory(err);
    }
    if (size == 0 || strlen(ret_target->socket_path) >= sizeof((struct sockaddr_un *)0)->sun_path)
        return pawli_fail(err, PAWL_E_INVALID,
                          "a socket's path must have 1 to %zu bytes, the directory included",
                          sizeof((struct sockaddr_un *)0)->sun_path - 1);
    int used = snprintf(http, sizeof http, "http://localhost%s", colon ? colon + 1 : "/");
    if (used < 0 || (size_t)used >= sizeof http)
        return pawli_fail(err, PAWL_E_INVALID, "the path after the socket's is too long");
    return parse_http(http, &ret_target->url, err);
}

static pawl_status parse_pipe(const char *rest, const char *directory, pawli_target *ret_target,
                              pawl_error *err)
{
    const char *fallback = getenv("TMPDIR");
    const char *colon = strstr(rest, ":/");
    char prefix[] = "/" PAWLI_PIPE_PREFIX;

    if (memchr(rest, '/', colon ? (size_t)(colon - rest) : strlen(rest)))
        return pawli_fail(err, PAWL_E_INVALID, "a pipe's name must not contain '/'");
    if (!*rest || colon == rest)
        return pawli_fail(err, PAWL_E_INVALID, "a pipe needs a name: pipe://NAME");
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
                        "a socket's path must begin with '/': unix:///run/app.sock");
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
