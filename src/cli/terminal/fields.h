/*
 * src/cli/terminal/fields.h - the fields of a noun: one table drives its JSON, its rows in a table
 * and its details.
 */
#ifndef CLI_FIELDS_H
#define CLI_FIELDS_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>
#include <pawl/clock.h>

#include "console.h"
#include "table.h"
#include "units.h"

typedef enum cli_field_kind {
    CLI_FIELD_NONE,   /* JSON null, not among the details */
    CLI_FIELD_TEXT,   /* const char *; NULL: none */
    CLI_FIELD_ERROR,  /* the same; in the details red, and with all its lines */
    CLI_FIELD_INT,    /* int */
    CLI_FIELD_INT64,  /* int64_t */
    CLI_FIELD_LIMIT,  /* int64_t; 0: none */
    CLI_FIELD_BOOL,   /* bool */
    CLI_FIELD_TIME,   /* pawl_wall; PAWL_TIME_UNSET: none */
    CLI_FIELD_OBJECT, /* json_t *; JSON only */
} cli_field_kind;

/* What a field is in one record. */
typedef struct cli_value {
    cli_field_kind kind;
    cli_color color;
    const char *label; /* in the details instead of the field's; NULL: the field's */
    const char *text;  /* borrowed from the record or from `room` */
    int64_t number;
    pawl_wall time;
    json_t *object;
    char room[1200];
} cli_value;

/*
 * Defines a function for cli_field.read by one statement, which sees the record as `it`, the
 * database's time as `now` and the value to set as `to`.
 */
#define CLI_FIELD_READ(type, name, ...)                                                            \
    static void name(const void *record_, pawl_wall now, cli_value *to)                            \
    {                                                                                              \
        const type *it = record_;                                                                  \
        (void)now;                                                                                 \
        __VA_ARGS__;                                                                               \
    }                                                                                              \
    struct name##_needs_a_semicolon

/* For these. */
void cli_value_text(cli_value *value, const char *text);
void cli_value_colored(cli_value *value, cli_color color, const char *text);
void cli_value_number(cli_value *value, int64_t number);
void cli_value_positive(cli_value *value, int64_t number); /* otherwise none */
void cli_value_time(cli_value *value, pawl_wall time);
void cli_value_format(cli_value *value, cli_color color, const char *format, ...) PAWL_PRINTF(3, 4);

/* A position in the details or in the table: 1 is the first, 0: not shown. */
typedef struct cli_place {
    int order;
    const char *name;
    bool right;          /* a column of numbers */
    const char *missing; /* a cell without a value; NULL: "" */
} cli_place;

/* In the order of the JSON object. A member of the record, or what `read` makes of it. */
typedef struct cli_field {
    const char *key; /* in JSON; NULL: not there */
    cli_field_kind kind;
    size_t offset;
    cli_place details;
    cli_place column;
    void (*read)(const void *record, pawl_wall now, cli_value *value); /* `value` is NONE */
    void (*set)(json_t *object, const void *record);  /* instead, in JSON: several keys */
    void (*print)(const void *record, pawl_wall now); /* instead, in the details: several lines */
} cli_field;

typedef struct cli_noun {
    const cli_field *fields;
    size_t count;
} cli_noun;
#define CLI_NOUN(fields)                                                                           \
    {                                                                                              \
        (fields), PAWLI_COUNT(fields)                                                              \
    }

/* `now` is the database's time. */
json_t *cli_noun_json(const cli_noun *noun, const void *record);
/* Adds the fields to an object. */
void cli_noun_set_json(const cli_noun *noun, json_t *object, const void *record);
void cli_noun_details(const cli_noun *noun, const void *record, pawl_wall now);
cli_table *cli_noun_table(const cli_noun *noun);
void cli_noun_row(const cli_noun *noun, cli_table *table, const void *record, pawl_wall now);

/* Records that are gathered, from one page or several, and printed as JSON, as a table, or as one
 * paragraph of details each, at once. */
typedef enum cli_listing_form { CLI_AS_JSON, CLI_AS_TABLE, CLI_AS_DETAILS } cli_listing_form;

typedef struct cli_listing {
    const cli_noun *noun;
    cli_listing_form form;
    pawl_wall now;
    int64_t wanted;
    int64_t count;
    int64_t last_id;  /* of the last one that was added */
    bool more;        /* one was not added */
    json_t *array;    /* CLI_AS_JSON */
    cli_table *table; /* CLI_AS_TABLE */
} cli_listing;

/* JSON with --json, otherwise a table. */
#define CLI_LISTING_FORM(args) ((args)->common.json ? CLI_AS_JSON : CLI_AS_TABLE)
void cli_listing_begin(cli_listing *listing, const cli_noun *noun, cli_listing_form form,
                       int64_t wanted, pawl_wall now);
/* False: there were as many as wanted already. */
bool cli_listing_add(cli_listing *listing, const void *record, int64_t id);
/* `empty` on stderr if there are none and the form is not JSON. */
void cli_listing_print(cli_listing *listing, const char *empty);
/* A line on stderr, after what was printed: how to see more. */
void cli_listing_hint(const cli_listing *listing, const char *format, ...) PAWL_PRINTF(2, 3);
#define CLI_HINT_BEFORE "More: add --before %" PRId64 " or a larger --limit."
void cli_listing_done(cli_listing *listing);
/* `CLI_AUTO_LISTING listing = {0};` */
#define CLI_AUTO_LISTING __attribute__((cleanup(cli_listing_done))) cli_listing

/*
 * Prints one line of details: a name and a value; nothing if a text or time is not set. `bytes` are
 * followed by a zero; `option` is how to get them if they are not text.
 */
void cli_details_field(const char *name, cli_color color, const char *format, ...)
    PAWL_PRINTF(3, 4);
void cli_details_text(const char *name, const char *text);
void cli_details_time(const char *name, pawl_wall time, pawl_wall now);
void cli_details_error(const char *name, const char *error);
void cli_details_bytes(const char *name, const char *option, const char *bytes, size_t size);

/* Adds NAME_size, and NAME or NAME_base64. `bytes` are followed by a zero, or NULL: none. */
void cli_json_bytes(json_t *object, const char *name, const void *bytes, size_t size);
/* Adds a JSON text as an object; NULL or invalid: null. */
void cli_json_object(json_t *object, const char *name, const char *text);

/* For a table: relative and absolute time, or on a narrow terminal only relative. */
const char *cli_table_time(pawl_wall at, pawl_wall now, char ret_text[CLI_WHEN_SIZE]);

#endif
