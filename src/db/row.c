/* src/db/row.c - starting ops, reading result rows, and finding their columns by name. */
#include "row.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"

/* ---- reading ---- */

static int row_place(const pawli_row *row, int column)
{
    return row->places ? row->places[column] : column;
}

bool pawli_row_is_null(const pawli_row *row, int column)
{
    int place = row_place(row, column);

    return place < 0 || row->table->is_null(row, place);
}

int64_t pawli_row_int(const pawli_row *row, int column)
{
    int place = row_place(row, column);

    return place < 0 ? 0 : row->table->integer(row, place);
}

pawl_wall pawli_row_time(const pawli_row *row, int column)
{
    int place = row_place(row, column);

    return place < 0 ? PAWL_TIME_UNSET : row->table->time(row, place);
}

void pawli_row_uuid(const pawli_row *row, int column, uint8_t ret_bytes[16])
{
    int place = row_place(row, column);

    if (place < 0)
        memset(ret_bytes, 0, 16);
    else
        row->table->uuid(row, place, ret_bytes);
}

const void *pawli_row_bytes(const pawli_row *row, int column, size_t *ret_size)
{
    int place = row_place(row, column);

    if (place >= 0)
        return row->table->bytes(row, place, ret_size);
    *ret_size = 0;
    return NULL;
}

bool pawli_row_texts(const pawli_row *row, int column, pawli_on_text *on_text, void *context)
{
    int place = row_place(row, column);

    return place < 0 || row->table->texts(row, place, on_text, context);
}

void pawli_op_start(const pawli_op *op)
{
    for (; op; op = op->next)
        if (op->on_start)
            op->on_start(op->context);
}

/* ---- columns by name ---- */

pawl_status pawli_column_map_prepare(pawli_column_map *map, const pawli_columns *columns,
                                     pawl_error *err)
{
    if (map->columns == columns)
        return PAWL_OK;
    pawli_column_map_done(map);
    if (columns) {
        map->places = calloc(columns->count, sizeof *map->places);
        if (!map->places)
            return pawli_fail(err, PAWL_E_NOMEM, "out of memory for the columns of a statement");
    }
    map->columns = columns;
    return PAWL_OK;
}

/* Whether the result has the columns where the last one had them. */
static bool map_holds(const pawli_column_map *map, int width, pawli_column_name name_of,
                      const void *result)
{
    if (width != map->width)
        return false;
    for (size_t i = 0; i < map->columns->count; i++) {
        const char *name = map->places[i] >= 0 ? name_of(result, map->places[i]) : NULL;
        if (map->places[i] >= 0 && (!name || strcmp(name, map->columns->names[i]) != 0))
            return false;
    }
    return true;
}

bool pawli_column_map_find(pawli_column_map *map, int width, pawli_column_name name_of,
                           const void *result)
{
    if (!map->columns || map_holds(map, width, name_of, result))
        return true;
    for (size_t i = 0; i < map->columns->count; i++)
        map->places[i] = -1;
    for (int k = width - 1; k >= 0; k--) { /* of two columns with one name, the first counts */
        const char *name = name_of(result, k);
        if (!name)
            return false;
        for (size_t i = 0; i < map->columns->count; i++)
            if (strcmp(name, map->columns->names[i]) == 0)
                map->places[i] = k;
    }
    map->width = width;
    return true;
}

void pawli_column_map_done(pawli_column_map *map)
{
    free(map->places);
    *map = (pawli_column_map){0};
}
