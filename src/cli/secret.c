/* src/cli/secret.c - secrets: where they come from, and never what they are. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "memory.h"
#include "secret.h"

static const char in_file[] = "file:";
static const char in_environment[] = "env:";

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0 && text[strlen(with)] != '\0';
}

bool cli_secret_is_source(const char *text)
{
    return begins(text, in_file) || begins(text, in_environment);
}

/* Up to `size` bytes; -1: errno says why. */
static ssize_t read_file(const char *path, char *buffer, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t got = fd < 0 ? -1 : 1;

    while (got > 0 && used < size) {
        got = read(fd, buffer + used, size - used);
        if (got > 0)
            used += (size_t)got;
    }
    int reason = errno;
    if (fd >= 0)
        close(fd);
    errno = reason;
    return got < 0 ? -1 : (ssize_t)used;
}

static pawl_status check_size(const char *source, size_t size, pawl_error *err)
{
    if (size < CLI_SECRET_MIN)
        return cli_fail(err, PAWL_E_INVALID,
                        "the secret of %s has %zu bytes; it must have at least %d", source, size,
                        CLI_SECRET_MIN);
    if (size > CLI_SECRET_MAX)
        return cli_fail(err, PAWL_E_INVALID, "the secret of %s is longer than %d bytes", source,
                        CLI_SECRET_MAX);
    return PAWL_OK;
}

static pawl_status from_file(const char *source, char **ret_secret, size_t *ret_size,
                             pawl_error *err)
{
    char *secret = cli_alloc(CLI_SECRET_MAX + 3, 1);
    ssize_t got = read_file(source + strlen(in_file), secret, CLI_SECRET_MAX + 2);
    size_t size = got < 0 ? 0 : (size_t)got;
    pawl_status st;

    if (got < 0) {
        st = cli_fail(err, PAWL_E_INVALID, "the secret of %s cannot be read: %s", source,
                      strerror(errno));
    } else {
        if (size > 0 && secret[size - 1] == '\n')
            size--;
        if (size > 0 && secret[size - 1] == '\r')
            size--;
        st = check_size(source, size, err);
    }
    if (st != PAWL_OK) {
        cli_secret_free(secret, CLI_SECRET_MAX + 2);
        return st;
    }
    memset(secret + size, 0, CLI_SECRET_MAX + 2 - size);
    *ret_secret = secret;
    *ret_size = size;
    return PAWL_OK;
}

static pawl_status from_environment(const char *source, char **ret_secret, size_t *ret_size,
                                    pawl_error *err)
{
    const char *value = getenv(source + strlen(in_environment));
    pawl_status st;

    if (!value)
        return cli_fail(err, PAWL_E_INVALID,
                        "the secret of %s is missing: that environment variable is not set",
                        source);
    st = check_size(source, strlen(value), err);
    if (st != PAWL_OK)
        return st;
    *ret_secret = cli_copy(value);
    *ret_size = strlen(value);
    return PAWL_OK;
}

pawl_status cli_secret_read(const char *source, char **ret_secret, size_t *ret_size,
                            pawl_error *err)
{
    if (begins(source, in_file))
        return from_file(source, ret_secret, ret_size, err);
    return from_environment(source, ret_secret, ret_size, err);
}

void cli_secret_free(char *secret, size_t size)
{
    if (secret)
        explicit_bzero(secret, size);
    free(secret);
}

/* Where the password of "scheme://user:password@host" is; too much rather than too little. */
static bool find_in_authority(const char *url, const char **ret_begin, size_t *ret_size)
{
    const char *authority = strstr(url, "://");
    const char *at = authority ? strrchr(authority, '@') : NULL;
    const char *colon = at ? memchr(authority + 3, ':', (size_t)(at - authority) - 3) : NULL;

    if (!colon)
        return false;
    *ret_begin = colon + 1;
    *ret_size = (size_t)(at - colon - 1);
    return true;
}

/* The next "password=..." as a parameter of a URL or in a libpq string, where it may be quoted. */
static bool find_parameter(const char *from, const char **ret_begin, size_t *ret_size)
{
    const char *found = strcasestr(from, "password");

    for (; found; found = strcasestr(found + 1, "password")) {
        const char *value = found + strlen("password");
        value += strspn(value, " ");
        if (*value != '=')
            continue;
        value += 1 + strspn(value + 1, " ");
        const char *end = value;
        if (*value == '\'')
            for (end++; *end && *end != '\'';)
                end += *end == '\\' && end[1] ? 2 : 1;
        *ret_begin = value;
        *ret_size = (size_t)(end - value) + strcspn(end, " &");
        return true;
    }
    return false;
}

char *cli_url_hide(const char *url)
{
    static const char hidden[] = "***";
    const char *begin;
    size_t size;
    char *text = find_in_authority(url, &begin, &size)
                     ? cli_print("%.*s%s%s", (int)(begin - url), url, hidden, begin + size)
                     : cli_copy(url);
    size_t done = 0;

    while (find_parameter(text + done, &begin, &size)) {
        size_t before = (size_t)(begin - text);
        char *next = cli_print("%.*s%s%s", (int)before, text, hidden, begin + size);
        free(text);
        text = next;
        done = before + strlen(hidden);
    }
    return text;
}
