/* src/db/sqlite/row_sqlite.c - reading a result row. */
#include "conn_sqlite.h"

#include <string.h>

static sqlite3_stmt *handle_of(const pawli_row *row)
{
    return ((const pawli_sqlite_row *)row)->handle;
}

static bool row_is_null(const pawli_row *row, int column)
{
    return sqlite3_column_type(handle_of(row), column) == SQLITE_NULL;
}

static int64_t row_integer(const pawli_row *row, int column)
{
    return sqlite3_column_int64(handle_of(row), column);
}

static pawl_wall row_time_of(const pawli_row *row, int column)
{
    return (pawl_wall){sqlite3_column_int64(handle_of(row), column)};
}

/* A text goes through column_text(): the file may be stored as UTF-16. */
static const void *row_bytes(const pawli_row *row, int column, size_t *ret_size)
{
    sqlite3_stmt *handle = handle_of(row);
    int type = sqlite3_column_type(handle, column);
    const void *data;

    *ret_size = 0;
    if (type == SQLITE_NULL)
        return NULL;
    if (type == SQLITE_BLOB)
        data = sqlite3_column_blob(handle, column);
    else
        data = sqlite3_column_text(handle, column);
    if (data)
        *ret_size = (size_t)sqlite3_column_bytes(handle, column);
    else if (type != SQLITE_BLOB)
        *((const pawli_sqlite_row *)row)->out_of_memory = true;
    return data ? data : ""; /* an empty blob has no address */
}

static void row_uuid(const pawli_row *row, int column, uint8_t ret_bytes[16])
{
    size_t size = 0;
    const void *data = row_bytes(row, column, &size);

    if (size == 16)
        memcpy(ret_bytes, data, 16);
    else
        memset(ret_bytes, 0, 16);
}

const pawli_row_table pawli_sqlite_row_table = {
    .is_null = row_is_null,
    .integer = row_integer,
    .time = row_time_of,
    .uuid = row_uuid,
    .bytes = row_bytes,
};
