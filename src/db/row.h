/* src/db/row.h - the driver's interface of a result row. Drivers embed pawli_row first. */
#ifndef PAWLI_ROW_H
#define PAWLI_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/clock.h>

#include "op.h"

typedef struct pawli_row_table {
    bool (*is_null)(const pawli_row *row, int column);
    int64_t (*integer)(const pawli_row *row, int column);
    pawl_wall (*time)(const pawli_row *row, int column);
    void (*uuid)(const pawli_row *row, int column, uint8_t ret_bytes[16]);
    const void *(*bytes)(const pawli_row *row, int column, size_t *ret_size);
} pawli_row_table;

struct pawli_row {
    const pawli_row_table *table;
};

#endif
