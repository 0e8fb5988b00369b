/* src/db/op.c - making parameter values, reading result rows. */
#include "op.h"

#include <string.h>

#include "row.h"

pawli_value pawli_int(int64_t number)
{
    return (pawli_value){.type = PAWLI_INT, .as.number = number};
}

pawli_value pawli_bool(bool flag)
{
    return (pawli_value){.type = PAWLI_BOOL, .as.number = flag};
}

pawli_value pawli_text(const char *text)
{
    if (!text)
        return pawli_null(PAWLI_TEXT);
    return (pawli_value){.type = PAWLI_TEXT, .as.bytes = {text, strlen(text)}};
}

pawli_value pawli_bytes(const void *data, size_t size)
{
    return (pawli_value){.type = PAWLI_BYTES, .as.bytes = {data, size}};
}

pawli_value pawli_uuid(const uint8_t bytes[16])
{
    return (pawli_value){.type = PAWLI_UUID, .as.bytes = {bytes, 16}};
}

pawli_value pawli_time(pawl_wall time)
{
    if (time.us == 0)
        return pawli_null(PAWLI_TIME);
    return (pawli_value){.type = PAWLI_TIME, .as.number = time.us};
}

pawli_value pawli_span_ms(int64_t ms)
{
    return (pawli_value){.type = PAWLI_SPAN, .as.number = ms * 1000};
}

pawli_value pawli_texts(const char *const *items, size_t count)
{
    if (!items)
        return pawli_null(PAWLI_TEXTS);
    return (pawli_value){.type = PAWLI_TEXTS, .as.texts = {items, count}};
}

pawli_value pawli_ints(const int64_t *items, size_t count)
{
    if (!items)
        return pawli_null(PAWLI_INTS);
    return (pawli_value){.type = PAWLI_INTS, .as.numbers = {items, count}};
}

pawli_value pawli_times(const int64_t *items, size_t count)
{
    return (pawli_value){.type = PAWLI_TIMES, .as.numbers = {items, count}};
}

pawli_value pawli_null(pawli_type type)
{
    return (pawli_value){.type = type, .is_null = true};
}

bool pawli_row_is_null(const pawli_row *row, int column)
{
    return row->table->is_null(row, column);
}

int64_t pawli_row_int(const pawli_row *row, int column)
{
    return row->table->integer(row, column);
}

pawl_wall pawli_row_time(const pawli_row *row, int column)
{
    return row->table->time(row, column);
}

void pawli_row_uuid(const pawli_row *row, int column, uint8_t ret_bytes[16])
{
    row->table->uuid(row, column, ret_bytes);
}

const void *pawli_row_bytes(const pawli_row *row, int column, size_t *ret_size)
{
    return row->table->bytes(row, column, ret_size);
}

bool pawli_is_list(pawli_type type)
{
    return type == PAWLI_TEXTS || type == PAWLI_INTS || type == PAWLI_TIMES;
}
