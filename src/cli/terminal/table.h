/* src/cli/terminal/table.h - printing an aligned table. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <pawl/export.h>

#include "console.h"
#include "alloc.h"

typedef struct cli_column {
    const char *title;
    bool right; /* right-aligned: numbers */
} cli_column;

typedef struct cli_table cli_table;

/* The titles are borrowed. */
cli_table *cli_table_new(const cli_column *columns, size_t count);
void cli_table_free(cli_table *table);
PAWLI_AUTO_DEFINE(cli_table, cli_table_free);

/* Adds the next cell, row by row. The text is made safe for a terminal. */
void cli_table_cell(cli_table *table, cli_color color, const char *format, ...) PAWL_PRINTF(3, 4);
/* On a terminal the last column is truncated to its width. */
void cli_table_print(const cli_table *table, FILE *stream);

#endif
