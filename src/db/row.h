/* src/db/row.h - the drivers' side of a result row. Drivers embed pawli_row first. */
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
    bool (*texts)(const pawli_row *row, int column, pawli_on_text *on_text, void *context);
} pawli_row_table;

struct pawli_row {
    const pawli_row_table *table;
    const int *places; /* of the op's columns in the result, -1: not there; NULL: by position */
};

/* Where the columns of an op are in a result. Kept with a statement, because it rarely changes. */
typedef struct pawli_column_map {
    const pawli_columns *columns; /* NULL: by position */
    int width;                    /* of the result that `places` was made for; 0: not made yet */
    int *places;
} pawli_column_map;

/* The name of a column of a result; NULL if memory ran out. */
typedef const char *(*pawli_column_name)(const void *result, int column);

/*
 * To be called before the statement runs, so that nothing can fail when it has: makes room for the
 * columns of the op. PAWL_E_NOMEM.
 */
pawl_status pawli_column_map_prepare(pawli_column_map *map, const pawli_columns *columns,
                                     pawl_error *err);
/*
 * Finds the columns in a result, if they are not where they were in the last one. False if memory
 * ran out.
 */
bool pawli_column_map_find(pawli_column_map *map, int width, pawli_column_name name_of,
                           const void *result);
void pawli_column_map_done(pawli_column_map *map);

#endif
