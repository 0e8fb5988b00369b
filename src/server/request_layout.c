/*
 * src/server/request_layout.c - whether the head of a request is what it is taken for, byte by
 * byte.
 *
 * A proxy that reads the same bytes differently than this server sees another end of the request:
 * that is how requests are smuggled. From 1.0 on libmicrohttpd refuses such heads itself in its
 * strict mode. Version 0.9.75 does not: it reads a head where it lies, hands out pointers into it
 * with zeros for colons and line ends, and loses things on the way (a header that goes on in the
 * next line, a header after one without a name, what follows a zero byte; LF passes for CRLF). So
 * for that version, and for no other, the pointers are compared: nothing may lie between one header
 * and the next but one line end.
 */
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "request_check.h"

static bool has_known_layout(const char *version)
{
    return strcmp(version, "0.9.75") == 0;
}

bool pawli_layout_is_supported(const char *version)
{
    return has_known_layout(version) || strtol(version, NULL, 10) >= 1;
}

typedef struct walk {
    const char *at; /* where the next line has to begin; NULL: it is already wrong */
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
