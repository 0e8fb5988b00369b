/* src/server/request_check.c - checks of the request head, before anything else. */
#include "request_check.h"

#include <ctype.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- checking the headers of a request ---- */

typedef struct header_scan {
    const char *wrong;
    int lengths;
    int encodings; /* Transfer-Encoding */
    int hosts;
    int types;
    pawli_request_head head;
} header_scan;

/* RFC 9110: the characters allowed in a field name. */
static bool is_token(const char *name, size_t size)
{
    if (size == 0)
        return false;
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)name[i]) &&
            (name[i] == '\0' || !strchr("!#$%&'*+-.^_`|~", name[i])))
            return false;
    return true;
}

static bool has_controls(const char *value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (((unsigned char)value[i] < 0x20 && value[i] != '\t') || value[i] == 0x7f)
            return true;
    return false;
}

static bool parse_length(const char *value, size_t size, int64_t *ret_length)
{
    int64_t length = 0;

    if (size == 0 || size > 18)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (!isdigit((unsigned char)value[i]))
            return false;
        length = length * 10 + (value[i] - '0');
    }
    *ret_length = length;
    return true;
}

/* "application/json", with or without parameters. */
static bool is_json(const char *value, size_t size)
{
    static const char json[] = "application/json";
    size_t length = sizeof json - 1;

    if (size < length || strncasecmp(value, json, length) != 0)
        return false;
    for (value += length, size -= length; size > 0 && (*value == ' ' || *value == '\t'); size--)
        value++;
    return size == 0 || *value == ';';
}

static bool check_is(const char *name, size_t size, const char *wanted)
{
    return size == strlen(wanted) && strncasecmp(name, wanted, size) == 0;
}

static void scan_header(header_scan *so_far, const char *name, size_t name_size, const char *value,
                        size_t size)
{
    if (check_is(name, name_size, "content-length")) {
        so_far->lengths++;
        so_far->head.has_length = true;
        if (!parse_length(value, size, &so_far->head.length))
            so_far->wrong = "Content-Length is not a number";
    } else if (check_is(name, name_size, "transfer-encoding")) {
        so_far->encodings++;
        so_far->head.is_chunked = true;
        if (!check_is(value, size, "chunked"))
            so_far->wrong = "Transfer-Encoding must be chunked";
    } else if (check_is(name, name_size, "host")) {
        so_far->hosts++;
    } else if (check_is(name, name_size, "content-type")) {
        so_far->types++;
        so_far->head.is_json = is_json(value, size);
    } else if (check_is(name, name_size, "content-encoding")) {
        so_far->head.is_encoded = !check_is(value, size, "identity");
    }
}

static enum MHD_Result check_each(void *context, enum MHD_ValueKind kind, const char *name,
                                  size_t name_size, const char *value, size_t value_size)
{
    header_scan *so_far = context;

    (void)kind;
    if (!is_token(name, name_size))
        so_far->wrong = "a header name has an invalid character";
    else if (has_controls(value ? value : "", value ? value_size : 0))
        so_far->wrong = "a header has a control character";
    else
        scan_header(so_far, name, name_size, value ? value : "", value ? value_size : 0);
    return so_far->wrong ? MHD_NO : MHD_YES;
}

const char *pawli_request_check(struct MHD_Connection *connection, const char *version,
                                pawli_request_head *ret_head)
{
    header_scan seen = {0};
    bool is_1_1 = strcmp(version, MHD_HTTP_VERSION_1_1) == 0;

    if (!is_1_1 && strcmp(version, MHD_HTTP_VERSION_1_0) != 0)
        return "the version must be HTTP/1.1 or HTTP/1.0";
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, check_each, &seen);
    if (seen.wrong)
        return seen.wrong;
    if (seen.hosts > 1 || (is_1_1 && seen.hosts == 0))
        return "there must be exactly one Host header";
    if (seen.lengths > 1 || seen.types > 1)
        return "Content-Length and Content-Type must not be repeated";
    if (seen.encodings > 1 || (seen.encodings > 0 && (seen.lengths > 0 || !is_1_1)))
        return "Transfer-Encoding must not be repeated, or combined with Content-Length";
    *ret_head = seen.head;
    return NULL;
}

/* ---- checking the layout of the head, byte by byte ---- */

/*
 * If a proxy parses the same bytes differently than this server, it sees another end of the
 * request, which enables request smuggling. Since version 1.0, libmicrohttpd rejects such heads
 * itself in its strict mode. Version 0.9.75 does not: it parses the head in place, returns
 * pointers into it with NUL bytes in place of colons and line ends, and loses parts of it (a
 * header that continues on the next line, a header after one without a name, anything after a
 * NUL byte; it accepts LF for CRLF). Only for that version, the pointers are compared: between
 * one header and the next there must be exactly one line end.
 */
static bool has_known_layout(const char *version)
{
    return strcmp(version, "0.9.75") == 0;
}

bool pawli_layout_is_supported(const char *version)
{
    return has_known_layout(version) || strtol(version, NULL, 10) >= 1;
}

typedef struct walk {
    const char *at; /* where the next line must begin; NULL: the layout is wrong */
} walk;

static bool is_line_end(const char *at)
{
    return at[0] == '\0' && at[1] == '\0';
}

static const char *layout_skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

static enum MHD_Result layout_each(void *context, enum MHD_ValueKind kind, const char *name,
                                   size_t name_size, const char *value, size_t value_size)
{
    walk *so_far = context;
    const char *here = so_far->at;

    (void)kind;
    so_far->at = NULL;
    if (name != here || !value || name[name_size] != '\0' ||
        layout_skip_blanks(name + name_size + 1) != value || !is_line_end(value + value_size))
        return MHD_NO;
    so_far->at = value + value_size + 2;
    return MHD_YES;
}

bool pawli_layout_is_plain(struct MHD_Connection *connection, const char *version)
{
    walk lines;

    if (!has_known_layout(MHD_get_version()))
        return true;
    lines.at = version + strlen(version) + 2;
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, layout_each, &lines);
    return lines.at && is_line_end(lines.at);
}
