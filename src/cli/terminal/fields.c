/* src/cli/terminal/fields.c - the fields of a noun as JSON, as rows of a table, and as details. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base64.h"
#include "fields.h"
#include "alloc.h"
#include "terminal_text.h"
#include "text.h"

#define HEX_BYTES 64
/* Below this width a row has room for either the time of day or the last column. */
#define WIDE 120

/* ---- one line of details ---- */

void cli_details_field(const char *name, cli_color color, const char *format, ...)
{
    PAWLI_AUTO_FREE char *raw = NULL;
    PAWLI_AUTO_FREE char *clean = NULL;
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&raw, format, arguments) < 0)
        raw = NULL;
    va_end(arguments);
    clean = raw ? cli_text_clean(raw, strlen(raw), true) : cli_copy("");
    printf("%s%-12s%s %s%s%s\n", cli_style(stdout, CLI_BOLD), name, cli_style(stdout, CLI_PLAIN),
           color == CLI_PLAIN ? "" : cli_style(stdout, color), clean,
           color == CLI_PLAIN ? "" : cli_style(stdout, CLI_PLAIN));
}

void cli_details_text(const char *name, const char *text)
{
    if (text)
        cli_details_field(name, CLI_PLAIN, "%s", text);
}

void cli_details_time(const char *name, pawl_wall time, pawl_wall now)
{
    if (time.us != PAWL_TIME_UNSET.us)
        cli_details_field(name, CLI_PLAIN, "%s", cli_when_both(time, now, CLI_ROOM));
}

/* Several lines, each indented by two. */
static void print_block(const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        printf("  %.*s\n", (int)length, text);
        text += length;
        if (*text == '\n')
            text++;
    }
}

void cli_details_error(const char *name, const char *error)
{
    PAWLI_AUTO_FREE char *clean = NULL;

    if (!error)
        return;
    if (!strchr(error, '\n')) {
        cli_details_field(name, CLI_RED, "%s", error);
        return;
    }
    clean = cli_text_clean(error, strlen(error), false);
    cli_details_field(name, CLI_PLAIN, "%s", "");
    fputs(cli_style(stdout, CLI_RED), stdout);
    print_block(clean);
    fputs(cli_style(stdout, CLI_PLAIN), stdout);
}

static void print_hex(const unsigned char *bytes, size_t size)
{
    size_t shown = size < HEX_BYTES ? size : HEX_BYTES;

    for (size_t i = 0; i < shown; i++)
        printf("%s%02x%s", i % 16 == 0 ? "  " : " ", bytes[i],
               i % 16 == 15 || i + 1 == shown ? "\n" : "");
    if (shown < size)
        puts("  ...");
}

void cli_details_bytes(const char *name, const char *option, const char *bytes, size_t size)
{
    bool printable = cli_text_printable(bytes, size);

    cli_details_field(name, CLI_PLAIN, "%zu byte%s%s%s%s", size, size == 1 ? "" : "s",
                      printable ? "" : ", not text (", printable ? "" : option,
                      printable ? "" : " writes them to stdout)");
    if (printable)
        print_block(bytes);
    else
        print_hex((const unsigned char *)bytes, size);
}

/* ---- parts of JSON and of rows ---- */

void cli_json_bytes(json_t *object, const char *name, const void *bytes, size_t size)
{
    PAWLI_AUTO_FREE char *encoded = NULL;
    char key[64];

    snprintf(key, sizeof key, "%s_size", name);
    cli_json_number(object, key, (long long)size);
    if (!bytes || (pawli_utf8_check(bytes, size, NULL) && !memchr(bytes, 0, size))) {
        cli_json_text(object, name, bytes);
        return;
    }
    encoded = cli_alloc(pawli_base64_length(size) + 1, 1);
    pawli_base64_encode(bytes, size, encoded);
    cli_json_text(object, name, NULL);
    snprintf(key, sizeof key, "%s_base64", name);
    cli_json_text(object, key, encoded);
}

void cli_json_object(json_t *object, const char *name, const char *text)
{
    json_t *parsed = text ? json_loads(text, 0, NULL) : NULL;

    json_object_set_new(object, name, parsed ? parsed : json_null());
}

const char *cli_table_time(pawl_wall at, pawl_wall now, char ret_text[CLI_WHEN_SIZE])
{
    size_t width = cli_width(stdout);

    if (width > 0 && width < WIDE)
        return cli_when_relative(at, now, ret_text);
    return cli_when_both(at, now, ret_text);
}

/* ---- the value of a field ---- */

void cli_value_text(cli_value *value, const char *text)
{
    value->kind = text ? CLI_FIELD_TEXT : CLI_FIELD_NONE;
    value->text = text;
}

void cli_value_colored(cli_value *value, cli_color color, const char *text)
{
    cli_value_text(value, text);
    value->color = color;
}

void cli_value_number(cli_value *value, int64_t number)
{
    value->kind = CLI_FIELD_INT64;
    value->number = number;
}

void cli_value_positive(cli_value *value, int64_t number)
{
    if (number > 0)
        cli_value_number(value, number);
}

void cli_value_time(cli_value *value, pawl_wall time)
{
    value->kind = time.us != PAWL_TIME_UNSET.us ? CLI_FIELD_TIME : CLI_FIELD_NONE;
    value->time = time;
}

void cli_value_format(cli_value *value, cli_color color, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(value->room, sizeof value->room, format, arguments);
    va_end(arguments);
    value->kind = CLI_FIELD_TEXT;
    value->text = value->room;
    value->color = color;
}

static void read_member(const cli_field *field, const void *record, cli_value *value)
{
    const void *member = (const char *)record + field->offset;

    switch (field->kind) {
    case CLI_FIELD_TEXT:
    case CLI_FIELD_ERROR:
        cli_value_text(value, *(const char *const *)member);
        break;
    case CLI_FIELD_INT:
        cli_value_number(value, *(const int *)member);
        break;
    case CLI_FIELD_INT64:
    case CLI_FIELD_LIMIT:
        cli_value_number(value, *(const int64_t *)member);
        break;
    case CLI_FIELD_BOOL:
        value->kind = CLI_FIELD_BOOL;
        value->number = *(const bool *)member;
        break;
    case CLI_FIELD_TIME:
        cli_value_time(value, *(const pawl_wall *)member);
        break;
    case CLI_FIELD_NONE:
    case CLI_FIELD_OBJECT:
        break;
    }
    if (field->kind == CLI_FIELD_LIMIT && value->number <= 0)
        value->kind = CLI_FIELD_NONE;
}

static void read_field(const cli_field *field, const void *record, pawl_wall now, cli_value *value)
{
    value->kind = CLI_FIELD_NONE;
    value->color = CLI_PLAIN;
    value->label = NULL;
    if (field->read)
        field->read(record, now, value);
    else
        read_member(field, record, value);
    if (field->kind == CLI_FIELD_ERROR && value->kind == CLI_FIELD_TEXT)
        value->kind = CLI_FIELD_ERROR;
}

/* ---- JSON ---- */

static void set_json_value(json_t *object, const char *key, const cli_value *value)
{
    switch (value->kind) {
    case CLI_FIELD_TEXT:
    case CLI_FIELD_ERROR:
        cli_json_text(object, key, value->text);
        break;
    case CLI_FIELD_INT:
    case CLI_FIELD_INT64:
    case CLI_FIELD_LIMIT:
        cli_json_number(object, key, value->number);
        break;
    case CLI_FIELD_BOOL:
        json_object_set_new(object, key, json_boolean(value->number));
        break;
    case CLI_FIELD_TIME:
        cli_json_time(object, key, value->time);
        break;
    case CLI_FIELD_OBJECT:
        json_object_set_new(object, key, value->object);
        break;
    case CLI_FIELD_NONE:
        json_object_set_new(object, key, json_null());
        break;
    }
}

void cli_noun_set_json(const cli_noun *noun, json_t *object, const void *record)
{
    cli_value value;

    for (size_t i = 0; i < noun->count; i++) {
        const cli_field *field = &noun->fields[i];
        if (field->set) {
            field->set(object, record);
        } else if (field->key) {
            read_field(field, record, PAWL_TIME_UNSET, &value);
            set_json_value(object, field->key, &value);
        }
    }
}

json_t *cli_noun_json(const cli_noun *noun, const void *record)
{
    json_t *object = json_object();

    cli_noun_set_json(noun, object, record);
    return object;
}

/* ---- details ---- */

static void print_detail(const cli_field *field, const void *record, pawl_wall now)
{
    cli_value value;

    if (field->print) {
        field->print(record, now);
        return;
    }
    read_field(field, record, now, &value);
    const char *label = value.label ? value.label : field->details.name;
    if (value.kind == CLI_FIELD_TEXT)
        cli_details_field(label, value.color, "%s", value.text);
    else if (value.kind == CLI_FIELD_ERROR)
        cli_details_error(label, value.text);
    else if (value.kind == CLI_FIELD_INT64)
        cli_details_field(label, value.color, "%" PRId64, value.number);
    else if (value.kind == CLI_FIELD_TIME)
        cli_details_time(label, value.time, now);
}

void cli_noun_details(const cli_noun *noun, const void *record, pawl_wall now)
{
    bool found = true;

    for (int order = 1; found; order++) {
        found = false;
        for (size_t i = 0; i < noun->count; i++) {
            found = found || noun->fields[i].details.order > order;
            if (noun->fields[i].details.order == order)
                print_detail(&noun->fields[i], record, now);
        }
    }
}

/* ---- rows ---- */

static const cli_field *find_column(const cli_noun *noun, int order)
{
    for (size_t i = 0; i < noun->count; i++)
        if (noun->fields[i].column.order == order)
            return &noun->fields[i];
    return NULL;
}

cli_table *cli_noun_table(const cli_noun *noun)
{
    cli_column columns[16];
    size_t count = 0;
    const cli_field *field;

    for (; count < PAWLI_COUNT(columns) && (field = find_column(noun, (int)count + 1)); count++)
        columns[count] = (cli_column){field->column.name, field->column.right};
    return cli_table_new(columns, count);
}

static void add_cell(cli_table *table, const cli_field *field, const cli_value *value,
                     pawl_wall now)
{
    if (value->kind == CLI_FIELD_TEXT || value->kind == CLI_FIELD_ERROR)
        cli_table_cell(table, value->color, "%s", value->text);
    else if (value->kind == CLI_FIELD_INT64)
        cli_table_cell(table, value->color, "%" PRId64, value->number);
    else if (value->kind == CLI_FIELD_TIME)
        cli_table_cell(table, value->color, "%s", cli_table_time(value->time, now, CLI_ROOM));
    else
        cli_table_cell(table, CLI_PLAIN, "%s", field->column.missing ? field->column.missing : "");
}

void cli_noun_row(const cli_noun *noun, cli_table *table, const void *record, pawl_wall now)
{
    const cli_field *field;
    cli_value value;

    for (int order = 1; (field = find_column(noun, order)); order++) {
        read_field(field, record, now, &value);
        add_cell(table, field, &value, now);
    }
}

/* ---- listings ---- */

void cli_listing_begin(cli_listing *listing, const cli_noun *noun, cli_listing_form form,
                       int64_t wanted, pawl_wall now)
{
    *listing = (cli_listing){.noun = noun, .form = form, .wanted = wanted, .now = now};
    if (form == CLI_AS_JSON)
        listing->array = json_array();
    else if (form == CLI_AS_TABLE)
        listing->table = cli_noun_table(noun);
}

bool cli_listing_add(cli_listing *listing, const void *record, int64_t id)
{
    if (listing->count == listing->wanted) {
        listing->more = true;
        return false;
    }
    if (listing->form == CLI_AS_JSON) {
        json_array_append_new(listing->array, cli_noun_json(listing->noun, record));
    } else if (listing->form == CLI_AS_TABLE) {
        cli_noun_row(listing->noun, listing->table, record, listing->now);
    } else {
        fputs(listing->count > 0 ? "\n" : "", stdout);
        cli_noun_details(listing->noun, record, listing->now);
    }
    listing->last_id = id;
    listing->count++;
    return true;
}

void cli_listing_print(cli_listing *listing, const char *empty)
{
    if (listing->form == CLI_AS_JSON)
        cli_json_print(stdout, json_incref(listing->array));
    else if (listing->count == 0)
        fprintf(stderr, "%s\n", empty);
    else if (listing->form == CLI_AS_TABLE)
        cli_table_print(listing->table, stdout);
}

void cli_listing_hint(const cli_listing *listing, const char *format, ...)
{
    va_list arguments;

    if (listing->form == CLI_AS_JSON || listing->count == 0)
        return;
    fflush(stdout);
    fputs(cli_style(stderr, CLI_DIM), stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s\n", cli_style(stderr, CLI_PLAIN));
}

void cli_listing_done(cli_listing *listing)
{
    json_decref(listing->array);
    cli_table_free(listing->table);
}
