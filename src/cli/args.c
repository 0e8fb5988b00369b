/* src/cli/args.c - options: one table per verb, which both parses them and makes --help. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "cli.h"
#include "config.h"
#include "console.h"
#include "fail.h"
#include "alloc.h"
#include "scope.h"
#include "terminal_text.h"
#include "units.h"

#define COMMON(field) offsetof(cli_common, field)
const cli_option cli_common_options[] = {
    {"config", "FILE",
     "the configuration file (default: $PAWL_CONFIG); flags override the environment, "
     "the environment overrides the file",
     CLI_TEXT, 'c', COMMON(config), 0, 0},
    {"db", "URL", "the database (default: $PAWL_DATABASE_URL, or url in [database] of the file)",
     CLI_TEXT, 0, COMMON(db), 0, 0},
    {"schema", "NAME", "PostgreSQL: the schema with pawl's tables (default: pawl)", CLI_TEXT, 0,
     COMMON(schema), 0, 0},
    {"prefix", "NAME", "SQLite: the prefix of pawl's tables (default: pawl_)", CLI_TEXT, 0,
     COMMON(prefix), 0, 0},
    {"timeout", "TIME", "timeout of a database call (default: 30s)", CLI_SPAN, 0,
     COMMON(timeout_ms), 1, 3600000},
    {"json", NULL, "one JSON document on stdout; errors as JSON on stderr", CLI_FLAG, 0,
     COMMON(json), 0, 0},
    {"verbose", NULL, "print the library's log records to stderr", CLI_FLAG, 'v', COMMON(verbose),
     0, 0},
    {"help", NULL, "this text", CLI_FLAG, 'h', COMMON(help), 0, 0},
    {"version", NULL, "the version", CLI_FLAG, 'V', COMMON(version), 0, 0},
};
const size_t cli_common_option_count = PAWLI_COUNT(cli_common_options);

static const cli_option *find_option(const cli_option *options, size_t count, const char *name,
                                     size_t length, char letter)
{
    for (size_t i = 0; i < count; i++) {
        if (letter
                ? options[i].letter == letter
                : strlen(options[i].name) == length && strncmp(options[i].name, name, length) == 0)
            return &options[i];
    }
    return NULL;
}

/* One argument that begins with a dash, taken apart. */
typedef struct option_text {
    const char *name; /* "" for the one-letter form */
    size_t length;
    char letter;
    const char *value; /* what follows "=", or NULL */
} option_text;

static bool is_option(const char *argument)
{
    return argument[0] == '-' && argument[1] != '\0';
}

static option_text split_option(const char *argument)
{
    option_text text = {"", 0, 0, NULL};

    if (argument[1] != '-') {
        text.letter = argument[2] == '\0' ? argument[1] : '?';
        return text;
    }
    text.name = argument + 2;
    text.length = strcspn(text.name, "=");
    if (text.name[text.length] == '=')
        text.value = text.name + text.length + 1;
    return text;
}

static const cli_option *find_common_option(const option_text *text)
{
    return find_option(cli_common_options, cli_common_option_count, text->name, text->length,
                       text->letter);
}

static const cli_option *find_verb_option(const cli_verb *verb, const option_text *text)
{
    const cli_option *options;
    size_t count;

    if (!verb)
        return NULL;
    options = cli_verb_options(verb, &count);
    return find_option(options, count, text->name, text->length, text->letter);
}

/* Before the verb is known: an option of any verb shows whether a value follows it. (An option
 * name that several verbs have takes a value in all of them or in none.) */
static bool option_takes_next(const option_text *text)
{
    const cli_option *option = find_common_option(text);

    for (size_t i = 0; !option && cli_verbs[i]; i++)
        option = find_verb_option(cli_verbs[i], text);
    return option && option->kind != CLI_FLAG && !text->value;
}

/* The index of the first word that is neither an option nor an option's value; 0 if none. */
static int find_verb(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0)
            return i + 1 < argc ? i + 1 : 0;
        if (!is_option(argv[i]))
            return i;
        option_text text = split_option(argv[i]);
        if (option_takes_next(&text))
            i++;
    }
    return 0;
}

static pawl_status unknown_verb(const char *name, pawl_error *err)
{
    cli_suggestion nearest = {name, NULL, 0};

    if (strcmp(name, "dead") == 0 || strcmp(name, "dlq") == 0)
        return pawli_fail(
            err, PAWL_E_INVALID,
            "unknown verb '%s'; 'pawl ls --state dead' lists dead letters, 'pawl retry' "
            "makes them ready again, 'pawl purge' removes them",
            name);
    for (size_t i = 0; cli_verbs[i]; i++)
        cli_suggest(&nearest, cli_verbs[i]->name);
    PAWLI_AUTO_FREE char *hint = cli_suggestion_text(&nearest);
    return pawli_fail(err, PAWL_E_INVALID, "unknown verb '%s'%s", name, hint);
}

static pawl_status unknown_option(const cli_args *args, const char *argument, pawl_error *err)
{
    PAWLI_AUTO_FREE char *name = cli_copy_bytes(argument, strcspn(argument, "="));
    cli_suggestion nearest = {name + strspn(name, "-"), NULL, 0};
    const char *verb = args->verb ? args->verb->name : "pawl";
    size_t count = 0;
    const cli_option *options = args->verb ? cli_verb_options(args->verb, &count) : NULL;

    for (size_t i = 0; i < count; i++)
        cli_suggest(&nearest, options[i].name);
    for (size_t i = 0; i < cli_common_option_count; i++)
        cli_suggest(&nearest, cli_common_options[i].name);
    if (nearest.best)
        return pawli_fail(err, PAWL_E_INVALID, "%s has no option %s; did you mean --%s?", verb,
                          name, nearest.best);
    return pawli_fail(err, PAWL_E_INVALID,
                      "%s has no option %s (to pass it as an argument, put -- before it)", verb,
                      name);
}

static pawl_status store_option_number(const cli_option *option, const char *value, int64_t *field,
                                       pawl_error *err)
{
    char *end = NULL;
    long long number;

    errno = 0;
    number = strtoll(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || number < option->min || number > option->max)
        return pawli_fail(err, PAWL_E_INVALID,
                          "--%s must be an integer from %" PRId64 " to %" PRId64 ", not '%s'",
                          option->name, option->min, option->max, value);
    *field = number;
    return PAWL_OK;
}

static pawl_status store_option_span(const cli_option *option, const char *value, int64_t *field,
                                     pawl_error *err)
{
    int64_t span_ms;

    if (!cli_span_parse(value, &span_ms))
        return pawli_fail(err, PAWL_E_INVALID,
                          "--%s must be a duration such as 250ms, 30s, 5m, 2h or 7d, not '%s'",
                          option->name, value);
    if (span_ms < option->min || span_ms > option->max)
        return pawli_fail(err, PAWL_E_INVALID, "--%s must be from %s to %s, not '%s'", option->name,
                          cli_span_text(option->min, CLI_ROOM),
                          cli_span_text(option->max, CLI_ROOM), value);
    *field = span_ms;
    return PAWL_OK;
}

static pawl_status store_option(const cli_option *option, void *target, const char *value,
                                pawl_error *err)
{
    void *field = (char *)target + option->offset;
    cli_texts *texts = field;

    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)field = true;
        return PAWL_OK;
    case CLI_TEXT:
        *(const char **)field = value;
        return PAWL_OK;
    case CLI_NUMBER:
        return store_option_number(option, value, field, err);
    case CLI_SPAN:
        return store_option_span(option, value, field, err);
    case CLI_TEXTS:
        texts->items = cli_grow(texts->items, texts->count + 1, sizeof *texts->items);
        texts->items[texts->count++] = value;
        return PAWL_OK;
    }
    return PAWL_OK;
}

/* *index stands on the option and is moved to the last argument it used. */
static pawl_status read_option(cli_args *args, int argc, char **argv, int *index, int verb_index,
                               pawl_error *err)
{
    option_text text = split_option(argv[*index]);
    const cli_option *option = find_verb_option(args->verb, &text);
    void *target = args->settings;

    if (option) {
        size_t count;
        args->given[option - cli_verb_options(args->verb, &count)] = true;
    } else {
        option = find_common_option(&text);
        target = &args->common;
    }
    if (!option)
        return unknown_option(args, argv[*index], err);
    if (option->kind == CLI_FLAG && text.value)
        return pawli_fail(err, PAWL_E_INVALID, "--%s takes no value", option->name);
    if (option->kind != CLI_FLAG && !text.value) {
        if (*index + 1 >= argc || *index + 1 == verb_index)
            return pawli_fail(err, PAWL_E_INVALID, "--%s needs a value: --%s %s", option->name,
                              option->name, option->value);
        text.value = argv[++*index];
    }
    return store_option(option, target, text.value, err);
}

static pawl_status read_arguments(cli_args *args, int argc, char **argv, int verb_index,
                                  pawl_error *err)
{
    bool literal = false;
    pawl_status st;

    args->words.items = cli_alloc((size_t)argc + 1, sizeof *args->words.items);
    args->words.literal_from = (size_t)argc;
    for (int i = 1; i < argc; i++) {
        if (i == verb_index)
            continue;
        if (!literal && strcmp(argv[i], "--") == 0) {
            literal = true;
            args->words.literal_from = args->words.count;
        } else if (!literal && is_option(argv[i])) {
            st = read_option(args, argc, argv, &i, verb_index, err);
            if (st != PAWL_OK)
                return st;
        } else {
            args->words.items[args->words.count++] = argv[i];
        }
    }
    if (!literal)
        args->words.literal_from = args->words.count;
    return PAWL_OK;
}

pawl_status cli_args_parse(cli_args *args, int argc, char **argv, pawl_error *err)
{
    int verb_index = find_verb(argc, argv);

    if (verb_index > 0) {
        args->verb = cli_verb_find(argv[verb_index]);
        if (!args->verb)
            return unknown_verb(argv[verb_index], err);
        size_t count;
        (void)cli_verb_options(args->verb, &count);
        args->given = cli_alloc(count, sizeof *args->given);
        args->settings = cli_alloc(1, args->verb->settings_size);
        if (args->verb->defaults)
            memcpy(args->settings, args->verb->defaults, args->verb->settings_size);
    }
    pawl_status st = read_arguments(args, argc, argv, verb_index, err);
    if (st == PAWL_OK && args->verb)
        args->config = cli_config_load(args);
    return st;
}

void cli_args_done(cli_args *args)
{
    size_t count = 0;
    const cli_option *options = args->verb ? cli_verb_options(args->verb, &count) : NULL;

    for (size_t i = 0; i < count; i++)
        if (options[i].kind == CLI_TEXTS)
            free(((cli_texts *)(void *)((char *)args->settings + options[i].offset))->items);
    cli_config_free(args->config);
    free(args->settings);
    free(args->given);
    free(args->words.items);
}

bool cli_args_want_json(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0)
            return true;
    return false;
}

const void *cli_subcommand_find(const cli_args *args, const void *subcommands, size_t count,
                                size_t size, const char *usage, pawl_error *err)
{
    const char *word = args->words.count > 0 ? args->words.items[0] : NULL;
    cli_suggestion near = {.given = word};

    for (size_t i = 0; word && i < count; i++) {
        const char *name;
        const char *subcommand = (const char *)subcommands + i * size;
        memcpy(&name, subcommand, sizeof name);
        if (strcmp(word, name) == 0)
            return subcommand;
        cli_suggest(&near, name);
    }
    if (near.best)
        pawli_fail(err, PAWL_E_INVALID, "there is no '%s %s'; did you mean '%s'?", args->verb->name,
                   word, near.best);
    else
        pawli_fail(err, PAWL_E_INVALID, "%s", usage);
    return NULL;
}

pawl_status cli_subcommand_check(const cli_args *args, unsigned bit, pawl_error *err)
{
    const char *verb = args->verb->name;
    size_t count;
    const cli_option *options = cli_verb_options(args->verb, &count);

    for (size_t i = 0; i < count; i++)
        if (args->given[i] && options[i].only != 0 && !(options[i].only & bit))
            return pawli_fail(err, PAWL_E_INVALID, "--%s is not for '%s %s'; see 'pawl %s --help'",
                              options[i].name, verb, args->words.items[0], verb);
    return PAWL_OK;
}

cli_args cli_subcommand_args(const cli_args *args)
{
    cli_args rest = *args;

    rest.words.items++;
    rest.words.count--;
    rest.words.literal_from -= rest.words.literal_from > 0;
    return rest;
}

pawl_status cli_args_no_words(const cli_args *args, pawl_error *err)
{
    if (args->words.count == 0)
        return PAWL_OK;
    return pawli_fail(err, PAWL_E_INVALID, "%s takes no argument '%s'", args->verb->name,
                      args->words.items[0]);
}
