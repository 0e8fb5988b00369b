/*
 * tests/fuzz/head_fuzz.c - any headers as the head of a request: what the guard lets through can be
 * read in one way only.
 *
 * libmicrohttpd's part is played here: it splits lines at their first colon and knows no more.
 */
#include <microhttpd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fuzz.h"
#include "request_check.h"

#define FIELDS_MAX 64

typedef struct field {
    const char *name;
    size_t name_size;
    const char *value;
    size_t value_size;
} field;

struct MHD_Connection {
    field fields[FIELDS_MAX];
    size_t count;
};

int MHD_get_connection_values_n(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                                MHD_KeyValueIteratorN iterator, void *iterator_cls)
{
    int count = 0;

    for (size_t i = 0; i < connection->count; i++) {
        const field *f = &connection->fields[i];
        count++;
        if (iterator(iterator_cls, kind, f->name, f->name_size, f->value, f->value_size) != MHD_YES)
            break;
    }
    return count;
}

static void split(struct MHD_Connection *head, const char *text, size_t size)
{
    while (size > 0 && head->count < FIELDS_MAX) {
        const char *end = memchr(text, '\n', size);
        size_t length = end ? (size_t)(end - text) : size;
        const char *colon = memchr(text, ':', length);
        field *f = &head->fields[head->count++];
        f->name = text;
        f->name_size = colon ? (size_t)(colon - text) : length;
        f->value = colon ? colon + 1 : NULL;
        f->value_size = colon ? length - f->name_size - 1 : 0;
        while (f->value_size > 0 && *f->value == ' ') {
            f->value++;
            f->value_size--;
        }
        text += length + (end ? 1 : 0);
        size -= length + (end ? 1 : 0);
    }
}

/* How often a reader finds the field who cares neither for case nor for blanks around the name. */
static int times(const struct MHD_Connection *head, const char *name)
{
    int count = 0;

    for (size_t i = 0; i < head->count; i++) {
        const char *begin = head->fields[i].name;
        size_t size = head->fields[i].name_size;
        while (size > 0 && strchr(" \t\r\v\f", *begin)) {
            begin++;
            size--;
        }
        while (size > 0 && strchr(" \t\r\v\f", begin[size - 1]))
            size--;
        count += size == strlen(name) && strncasecmp(begin, name, size) == 0;
    }
    return count;
}

static bool only_digits(const struct MHD_Connection *head)
{
    for (size_t i = 0; i < head->count; i++) {
        const field *f = &head->fields[i];
        if (f->name_size != 14 || strncasecmp(f->name, "content-length", 14) != 0)
            continue;
        for (size_t k = 0; k < f->value_size; k++)
            if (f->value[k] < '0' || f->value[k] > '9')
                return false;
        if (f->value_size == 0)
            return false;
    }
    return true;
}

/* The first byte chooses the version, the rest are lines. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct MHD_Connection head = {.count = 0};
    pawli_request_head seen = {0};
    const char *wrong;
    bool is_1_1;
    int lengths;
    int encodings;

    if (size == 0)
        return 0;
    is_1_1 = data[0] % 4 != 0;
    split(&head, (const char *)data + 1, size - 1);
    wrong = pawli_request_check(&head, is_1_1 ? "HTTP/1.1" : "HTTP/1.0", &seen);
    if (wrong)
        return strlen(wrong) < 10 ? abort(), 0 : 0;
    lengths = times(&head, "content-length");
    encodings = times(&head, "transfer-encoding");
    if (lengths > 1 || encodings > 1 || lengths + encodings > 1 || !only_digits(&head) ||
        (encodings > 0 && !is_1_1) || times(&head, "host") > 1 ||
        (is_1_1 && times(&head, "host") != 1) || seen.length < 0 ||
        seen.has_length != (lengths == 1))
        abort();
    return 0;
}
