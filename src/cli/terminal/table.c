/* src/cli/terminal/table.c - an aligned table. */
#include <stdarg.h>
#include <string.h>

#include "message_fields.h"
#include "scope.h"
#include "table.h"
#include "terminal_text.h"

#define GAP 2
#define WIDEST 40 /* on a terminal, of a column that is not the last */
#define ELLIPSIS "\xe2\x80\xa6"

typedef struct table_cell {
    char *text;
    cli_color color;
} table_cell;

struct cli_table {
    cli_column *columns;
    size_t column_count;
    table_cell *cells;
    size_t cell_count;
};

cli_table *cli_table_new(const cli_column *columns, size_t count)
{
    cli_table *table = cli_alloc(1, sizeof *table);

    table->columns = cli_alloc(count, sizeof *columns);
    memcpy(table->columns, columns, count * sizeof *columns);
    table->column_count = count;
    return table;
}

void cli_table_free(cli_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i].text);
    free(table->cells);
    free(table->columns);
    free(table);
}

void cli_table_cell(cli_table *table, cli_color color, const char *format, ...)
{
    PAWLI_AUTO_FREE char *raw = NULL;
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&raw, format, arguments) < 0)
        raw = NULL;
    va_end(arguments);
    if ((table->cell_count & (table->cell_count - 1)) == 0)
        table->cells = cli_grow(table->cells, table->cell_count ? table->cell_count * 2 : 1,
                                sizeof(table_cell));
    table->cells[table->cell_count].text =
        raw ? cli_text_clean(raw, strlen(raw), true) : cli_copy("");
    table->cells[table->cell_count].color = color;
    table->cell_count++;
}

static size_t column_width(const cli_table *table, size_t column, size_t limit)
{
    size_t widest = strlen(table->columns[column].title);

    for (size_t i = column; i < table->cell_count; i += table->column_count) {
        size_t width = cli_text_width(table->cells[i].text);
        if (width > widest)
            widest = width;
    }
    return limit > 0 && widest > limit ? limit : widest;
}

static void print_spaces(FILE *stream, size_t count)
{
    fprintf(stream, "%*s", (int)count, "");
}

/* `limit`: columns there are; 0 means any number. */
static void print_truncated(FILE *stream, const char *text, size_t limit)
{
    if (limit == 0 || cli_text_width(text) <= limit)
        fputs(text, stream);
    else
        fprintf(stream, "%.*s" ELLIPSIS, (int)cli_text_fit(text, limit - 1), text);
}

typedef struct table_layout {
    size_t *widths;
    size_t last_limit; /* 0: none */
    size_t owed;       /* blanks before the next text, if there is one: no line ends in blanks */
} table_layout;

static void print_cell(const cli_table *table, FILE *stream, table_layout *fit, size_t column,
                       const char *text, cli_color color)
{
    bool last = column + 1 == table->column_count;
    bool right = table->columns[column].right;
    size_t width = cli_text_width(text);
    size_t space = width < fit->widths[column] ? fit->widths[column] - width : 0;

    if (right)
        fit->owed += space;
    if (*text) {
        print_spaces(stream, fit->owed);
        fit->owed = 0;
        fputs(color == CLI_PLAIN ? "" : cli_style(stream, color), stream);
        print_truncated(stream, text, last ? fit->last_limit : fit->widths[column]);
        fputs(color == CLI_PLAIN ? "" : cli_style(stream, CLI_PLAIN), stream);
    }
    fit->owed += (right ? 0 : space) + GAP;
    if (last) {
        fputc('\n', stream);
        fit->owed = 0;
    }
}

void cli_table_print(const cli_table *table, FILE *stream)
{
    table_layout fit = {cli_alloc(table->column_count, sizeof(size_t)), 0, 0};
    size_t terminal = cli_width(stream);
    size_t before_last = 0;

    for (size_t i = 0; i < table->column_count; i++) {
        bool last = i + 1 == table->column_count;
        fit.widths[i] = column_width(table, i, terminal > 0 && !last ? WIDEST : 0);
        if (!last)
            before_last += fit.widths[i] + GAP;
    }
    if (terminal > 0)
        fit.last_limit = terminal > before_last + 10 ? terminal - before_last : 10;
    for (size_t i = 0; i < table->column_count; i++)
        print_cell(table, stream, &fit, i, table->columns[i].title, CLI_BOLD);
    for (size_t i = 0; table->column_count > 0 && i < table->cell_count; i++)
        print_cell(table, stream, &fit, i % table->column_count, table->cells[i].text,
                   table->cells[i].color);
    free(fit.widths);
}
