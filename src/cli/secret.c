/* src/cli/secret.c - secrets: where they come from, and never what they are. */
#include <stdio.h>
#include <string.h>

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

const char *cli_secret_variable(const char *source)
{
    return begins(source, in_environment) ? source + strlen(in_environment) : NULL;
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
