/* src/db/merge.c - runs ops of the same kind from several callers as one op. */
#include "merge.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"

bool pawli_merge_fits(const pawli_op *first, const pawli_op *next)
{
    return first->merges && next->merges && !first->next && !next->next &&
           first->sql == next->sql && first->rows->names == next->rows->names;
}

/* ---- a part's result rows: the merged rows, with positions relative to the part ----
 */

typedef struct part_row {
    pawli_row base;
    const pawli_row *whole;
    int64_t start;
} part_row;

static const pawli_row *whole_of(const pawli_row *row)
{
    return ((const part_row *)row)->whole;
}

static bool part_is_null(const pawli_row *row, int column)
{
    return pawli_row_is_null(whole_of(row), column);
}

static int64_t part_integer(const pawli_row *row, int column)
{
    int64_t number = pawli_row_int(whole_of(row), column);

    return column == 0 ? number - ((const part_row *)row)->start : number;
}

static pawl_wall part_time(const pawli_row *row, int column)
{
    return pawli_row_time(whole_of(row), column);
}

static void part_uuid(const pawli_row *row, int column, uint8_t ret_bytes[16])
{
    pawli_row_uuid(whole_of(row), column, ret_bytes);
}

static const void *part_bytes(const pawli_row *row, int column, size_t *ret_size)
{
    return pawli_row_bytes(whole_of(row), column, ret_size);
}

static bool part_texts(const pawli_row *row, int column, pawli_on_text *on_text, void *context)
{
    return pawli_row_texts(whole_of(row), column, on_text, context);
}

/* A row for the whole batch: column 1 is the value of the first row, and increases by one per
 * row. */
static int64_t range_integer(const pawli_row *row, int column)
{
    int64_t number = pawli_row_int(whole_of(row), column);

    return column == 1 ? number + ((const part_row *)row)->start : number;
}

static const pawli_row_table range_table = {part_is_null, range_integer, part_time,
                                            part_uuid,    part_bytes,    part_texts};
static const pawli_row_table part_table = {part_is_null, part_integer, part_time,
                                           part_uuid,    part_bytes,   part_texts};

/* ---- the merged op ---- */

static void merge_on_start(void *context)
{
    pawli_merge *merge = context;

    merge->part = 0;
    for (size_t i = 0; i < merge->count; i++) {
        if (merge->parts[i]->on_start)
            merge->parts[i]->on_start(merge->parts[i]->context);
    }
}

/* Result rows come in the order of the op's rows, or nearly so. */
static bool find_part(pawli_merge *merge, size_t position)
{
    if (position >= merge->rows.row_count)
        return false;
    while (position < merge->starts[merge->part])
        merge->part--;
    while (position >= merge->starts[merge->part + 1])
        merge->part++;
    return true;
}

static pawl_status forward_to_all(pawli_merge *merge, const pawli_row *row, pawl_error *err)
{
    pawl_status st = PAWL_OK;

    for (size_t i = 0; i < merge->count && st == PAWL_OK; i++) {
        part_row part_result = {{&range_table}, row, (int64_t)merge->starts[i]};
        st = merge->parts[i]->on_row(merge->parts[i]->context, &part_result.base, err);
    }
    return st;
}

static pawl_status merge_on_row(void *context, const pawli_row *row, pawl_error *err)
{
    pawli_merge *merge = context;

    if (pawli_row_is_null(row, 0))
        return forward_to_all(merge, row, err);
    if (!find_part(merge, (size_t)pawli_row_int(row, 0)))
        return pawli_fail(err, PAWL_E_STORE,
                          "the database returned a result for a row that was not sent");
    const pawli_op *part = merge->parts[merge->part];
    part_row part_result = {{&part_table}, row, (int64_t)merge->starts[merge->part]};
    return part->on_row(part->context, &part_result.base, err);
}

static void copy_rows(pawli_merge *merge)
{
    size_t columns = merge->rows.column_count;

    for (size_t i = 0; i < merge->count; i++) {
        const pawli_rows *rows = merge->parts[i]->rows;
        pawli_value *at = &merge->values[merge->starts[i] * columns];

        memcpy(at, rows->values, rows->row_count * columns * sizeof *at);
        for (size_t k = 0; k < rows->row_count; k++)
            at[k * columns].as.number += (int64_t)merge->starts[i];
    }
}

bool pawli_merge_make(pawli_merge *merge, const pawli_op *const *parts, size_t count)
{
    size_t rows = 0;

    *merge = (pawli_merge){.op = *parts[0], .rows = *parts[0]->rows, .parts = parts};
    merge->count = count;
    merge->starts = malloc((count + 1) * sizeof *merge->starts);
    if (!merge->starts)
        return false;
    for (size_t i = 0; i < count; i++) {
        merge->starts[i] = rows;
        rows += parts[i]->rows->row_count;
    }
    merge->starts[count] = rows;
    merge->values = malloc((rows * merge->rows.column_count + 1) * sizeof *merge->values);
    if (!merge->values) {
        pawli_merge_done(merge);
        return false;
    }
    copy_rows(merge);
    merge->rows.row_count = rows;
    merge->rows.values = merge->values;
    merge->op.rows = &merge->rows;
    merge->op.on_start = merge_on_start;
    merge->op.on_row = merge_on_row;
    merge->op.context = merge;
    return true;
}

void pawli_merge_done(pawli_merge *merge)
{
    free(merge->starts);
    free(merge->values);
    *merge = (pawli_merge){0};
}
