/* src/transport/json_scan.c - scans JSON text without changing or copying it. */
#include "json_scan.h"

#include <string.h>

#include "text.h"

typedef struct walk {
    const char *at;
    const char *end;
} walk;

static void skip_space(walk *w)
{
    while (w->at < w->end && (*w->at == ' ' || *w->at == '\t' || *w->at == '\n' || *w->at == '\r'))
        w->at++;
}

static bool json_scan_take(walk *w, char wanted)
{
    if (w->at == w->end || *w->at != wanted)
        return false;
    w->at++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex_digit(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool walk_digits(walk *w)
{
    const char *start = w->at;

    while (w->at < w->end && is_digit(*w->at))
        w->at++;
    return w->at > start;
}

static bool walk_number(walk *w)
{
    json_scan_take(w, '-');
    if (!json_scan_take(w, '0') && !walk_digits(w))
        return false;
    if (json_scan_take(w, '.') && !walk_digits(w))
        return false;
    if (json_scan_take(w, 'e') || json_scan_take(w, 'E')) {
        if (!json_scan_take(w, '+'))
            json_scan_take(w, '-');
        return walk_digits(w);
    }
    return true;
}

/* After a backslash. */
static bool walk_escape(walk *w)
{
    if (w->at == w->end)
        return false;
    char kind = *w->at++;
    if (kind != 'u')
        return kind != '\0' && strchr("\"\\/bfnrt", kind) != NULL;
    for (int i = 0; i < 4; i++, w->at++)
        if (w->at == w->end || !is_hex_digit(*w->at))
            return false;
    return true;
}

static bool walk_string(walk *w)
{
    const char *start;

    if (!json_scan_take(w, '"'))
        return false;
    for (start = w->at; w->at < w->end;) {
        unsigned char c = (unsigned char)*w->at++;
        if (c == '"')
            return pawli_utf8_check(start, (size_t)(w->at - start), NULL);
        if (c < 0x20 || (c == '\\' && !walk_escape(w)))
            return false;
    }
    return false;
}

static bool walk_word(walk *w, const char *word)
{
    size_t size = strlen(word);

    if ((size_t)(w->end - w->at) < size || memcmp(w->at, word, size) != 0)
        return false;
    w->at += size;
    return true;
}

/* The open objects and arrays, innermost in the lowest bit: 1 is an object. */
typedef struct nest {
    unsigned long long objects;
    int open;
} nest;
_Static_assert(sizeof(unsigned long long) * 8 >= 64, "a nest has at most 64 levels");

/* A scalar, or the start of an object or array. */
static bool walk_scalar(walk *w)
{
    switch (*w->at) {
    case '"':
        return walk_string(w);
    case 't':
        return walk_word(w, "true");
    case 'f':
        return walk_word(w, "false");
    case 'n':
        return walk_word(w, "null");
    default:
        return walk_number(w);
    }
}

static bool walk_name(walk *w)
{
    skip_space(w);
    if (!walk_string(w))
        return false;
    skip_space(w);
    return json_scan_take(w, ':');
}

/*
 * After a value: closes what ends here. *ret_more: another value follows, whose name has been
 * read. Returns false on a syntax error.
 */
static bool walk_on(walk *w, nest *n, bool *ret_more)
{
    *ret_more = false;
    while (n->open > 0) {
        bool object = n->objects & 1;
        skip_space(w);
        if (json_scan_take(w, ',')) {
            *ret_more = true;
            return !object || walk_name(w);
        }
        if (!json_scan_take(w, object ? '}' : ']'))
            return false;
        n->objects >>= 1;
        n->open--;
    }
    return true;
}

/* Not recursive, because the peer chooses the depth. Skips white space before the value. */
static bool walk_value(walk *w, int depth)
{
    nest n = {0, 0};
    bool more = true;

    while (more) {
        skip_space(w);
        if (w->at == w->end)
            return false;
        bool object = *w->at == '{';
        if (object || *w->at == '[') {
            if (n.open >= depth || n.open >= 64)
                return false;
            w->at++;
            n.objects = n.objects << 1 | object;
            n.open++;
            skip_space(w);
            if (w->at < w->end && *w->at == (object ? '}' : ']')) {
                if (!walk_on(w, &n, &more))
                    return false;
            } else if (object && !walk_name(w)) {
                return false;
            }
            continue;
        }
        if (!walk_scalar(w) || !walk_on(w, &n, &more))
            return false;
    }
    return true;
}

bool pawli_json_scan_is_value(const char *text, size_t size, int depth)
{
    walk w = {text, text + size};

    if (size == 0 || strchr(" \t\r\n", text[0]))
        return false;
    return walk_value(&w, depth) && w.at == w.end;
}

bool pawli_members_begin(pawli_members *members, const char *text, size_t size, int depth)
{
    walk w = {text, text + size};

    skip_space(&w);
    if (depth < 1 || !json_scan_take(&w, '{'))
        return false;
    *members = (pawli_members){w.at, w.end, depth - 1, true};
    return true;
}

static pawli_found walk_at_end(walk *w)
{
    skip_space(w);
    return w->at == w->end ? PAWLI_FOUND_END : PAWLI_FOUND_FAULT;
}

static pawli_found next_member(walk *w, const pawli_members *members, pawli_span *ret_name,
                               pawli_span *ret_value)
{
    const char *start;

    skip_space(w);
    if (json_scan_take(w, '}'))
        return walk_at_end(w);
    if (!members->first) {
        if (!json_scan_take(w, ','))
            return PAWLI_FOUND_FAULT;
        skip_space(w);
    }
    start = w->at;
    if (!walk_string(w))
        return PAWLI_FOUND_FAULT;
    *ret_name = (pawli_span){start + 1, (size_t)(w->at - start) - 2};
    skip_space(w);
    if (!json_scan_take(w, ':'))
        return PAWLI_FOUND_FAULT;
    skip_space(w);
    start = w->at;
    if (!walk_value(w, members->depth))
        return PAWLI_FOUND_FAULT;
    *ret_value = (pawli_span){start, (size_t)(w->at - start)};
    return PAWLI_FOUND_MEMBER;
}

pawli_found pawli_members_next(pawli_members *members, pawli_span *ret_name, pawli_span *ret_value)
{
    walk w = {members->at, members->end};
    pawli_found found = next_member(&w, members, ret_name, ret_value);

    members->at = w.at;
    members->first = false;
    return found;
}

bool pawli_span_equals(pawli_span span, const char *text)
{
    return strlen(text) == span.size && memcmp(text, span.start, span.size) == 0;
}
