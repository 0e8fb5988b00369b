/*
 * src/server/layout.c - whether the head of a request is what it is taken for, byte by byte.
 *
 * libmicrohttpd 0.9.75 reads a head where it lies and hands out pointers into it, with zeros for
 * colons and line ends. It loses things on the way: a header that goes on in the next line, a
 * header after one without a name, what follows a zero byte; and it takes LF for CRLF. Somebody in
 * front who reads the same bytes in another way would see another end of the request. So nothing
 * may lie between one header and the next but one line end.
 */
#include <microhttpd.h>
#include <string.h>

#include "guard.h"

typedef struct walk {
    const char *at; /* where the next line has to begin; NULL: it is already wrong */
} walk;

static bool is_line_end(const char *at)
{
    return at[0] == '\0' && at[1] == '\0';
}

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

static enum MHD_Result each(void *context, enum MHD_ValueKind kind, const char *name,
                            size_t name_size, const char *value, size_t value_size)
{
    walk *so_far = context;
    const char *here = so_far->at;

    (void)kind;
    so_far->at = NULL;
    if (name != here || !value || name[name_size] != '\0' ||
        skip_blanks(name + name_size + 1) != value || !is_line_end(value + value_size))
        return MHD_NO;
    so_far->at = value + value_size + 2;
    return MHD_YES;
}

bool pawli_layout_is_plain(struct MHD_Connection *connection, const char *version)
{
    walk lines = {version + strlen(version) + 2};

    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, each, &lines);
    return lines.at && is_line_end(lines.at);
}
