/* src/db/postgres/row_postgres.c - reading a result row in PostgreSQL's binary form. */
#include <endian.h>
#include <string.h>

#include "conn_postgres.h"

/* timestamptz counts from 2000-01-01, pawl from 1970-01-01. */
#define EPOCH_2000_US INT64_C(946684800000000)
#define DAY_US INT64_C(86400000000)
#define INTERVAL_SIZE 16

static const pawli_postgres_row *row_own(const pawli_row *row)
{
    return (const pawli_postgres_row *)row;
}

static const char *row_value_of(const pawli_row *row, int column, size_t *ret_size)
{
    *ret_size = (size_t)PQgetlength(row_own(row)->result, row_own(row)->index, column);
    return PQgetvalue(row_own(row)->result, row_own(row)->index, column);
}

static bool row_is_null(const pawli_row *row, int column)
{
    return PQgetisnull(row_own(row)->result, row_own(row)->index, column);
}

/* smallint, integer and bigint differ only in their length, and boolean is one byte. */
static int64_t row_number_of(const char *value, size_t size)
{
    int64_t number = size > 1 && (value[0] & 0x80) ? -1 : 0;

    for (size_t i = 0; i < size && i < sizeof number; i++)
        number = (int64_t)(((uint64_t)number << 8) | (uint8_t)value[i]);
    return number;
}

/* An interval is microseconds, then days, then months: of 24 hours and 30 days, as EXTRACT has it.
 */
static int64_t row_integer(const pawli_row *row, int column)
{
    size_t size;
    const char *value = row_value_of(row, column, &size);

    if (row_is_null(row, column))
        return 0;
    if (size != INTERVAL_SIZE)
        return row_number_of(value, size);
    int64_t days = row_number_of(value + 8, 4) + 30 * row_number_of(value + 12, 4), us;
    if (__builtin_mul_overflow(days, DAY_US, &us) ||
        __builtin_add_overflow(us, row_number_of(value, 8), &us))
        return days < 0 ? INT64_MIN : INT64_MAX; /* 300,000 years: rows written by hand have it */
    return us;
}

static pawl_wall row_time_of(const pawli_row *row, int column)
{
    int64_t us = row_integer(row, column);

    if (row_is_null(row, column))
        return PAWL_TIME_UNSET;
    if (us > INT64_MAX - EPOCH_2000_US) /* 'infinity' */
        return (pawl_wall){INT64_MAX};
    return (pawl_wall){us + EPOCH_2000_US};
}

static void row_uuid(const pawli_row *row, int column, uint8_t ret_bytes[16])
{
    size_t size;
    const char *value = row_value_of(row, column, &size);

    memset(ret_bytes, 0, 16);
    if (size == 16)
        memcpy(ret_bytes, value, 16);
}

static const void *row_bytes(const pawli_row *row, int column, size_t *ret_size)
{
    const char *value = row_value_of(row, column, ret_size);

    return row_is_null(row, column) ? NULL : value;
}

const pawli_row_table pawli_postgres_row_table = {row_is_null, row_integer, row_time_of, row_uuid,
                                                  row_bytes};
