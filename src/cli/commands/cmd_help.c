/* src/cli/commands/cmd_help.c - pawl help and pawl version. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <pawl/pawl.h>

#include "cli.h"
#include "console.h"
#include "alloc.h"
#include "fail.h"
#include "scope.h"
#include "terminal_text.h"

#define OPTION_COLUMN 29
#define TEXT_WIDTH 79

/* Words of `text`, wrapped, each line after the first indented; ends with a newline. */
static void print_wrapped(FILE *stream, const char *text, size_t indent)
{
    size_t column = indent;

    while (*text) {
        size_t length = strcspn(text, " \n");
        if (column > indent && column + 1 + length > TEXT_WIDTH) {
            fprintf(stream, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', stream);
            column++;
        }
        fwrite(text, 1, length, stream);
        column += length;
        text += length;
        if (*text == '\n') {
            fprintf(stream, "\n%*s", (int)indent, "");
            column = indent;
        }
        if (*text)
            text++;
    }
    fputc('\n', stream);
}

static void print_help_title(FILE *stream, const char *title)
{
    fprintf(stream, "\n%s%s%s\n", cli_style(stream, CLI_BOLD), title, cli_style(stream, CLI_PLAIN));
}

/* "  left           right, wrapped" */
static void print_help_pair(FILE *stream, const char *left, const char *right)
{
    fprintf(stream, "  %-*s", OPTION_COLUMN - 2, left);
    if (strlen(left) > OPTION_COLUMN - 4)
        fprintf(stream, "\n%*s", OPTION_COLUMN, "");
    print_wrapped(stream, right, OPTION_COLUMN);
}

static void print_options(FILE *stream, const cli_option *options, size_t count)
{
    char left[80];

    for (size_t i = 0; i < count; i++) {
        const cli_option *option = &options[i];
        char letter[8] = "    ";
        if (option->letter)
            snprintf(letter, sizeof letter, "-%c, ", option->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, option->name, option->value ? " " : "",
                 option->value ? option->value : "");
        print_help_pair(stream, left, option->help);
    }
}

static const cli_exit usual_exits[] = {{PAWL_OK, "done"},
                                       {PAWL_E_INVALID, "invalid command line; nothing was done"}};
static const cli_exit database_exits[] = {
    {PAWL_E_UNAVAILABLE, "the database is not reachable"},
    {PAWL_E_BUSY, "the database is busy or timed out; try again"},
    {PAWL_E_NO_SCHEMA, "pawl's tables are missing or of another version; run pawl init"},
};

/* The codes of this verb in rising order. */
static void print_exits(FILE *stream, const cli_verb *verb)
{
    const struct {
        const cli_exit *exits;
        size_t count;
    } lists[] = {{usual_exits, PAWLI_COUNT(usual_exits)},
                 {verb->exits, verb->exit_count},
                 {database_exits, verb->no_database ? 0 : PAWLI_COUNT(database_exits)}};

    for (int code = 0; code < 256; code++)
        for (size_t i = 0; i < PAWLI_COUNT(lists); i++)
            for (size_t k = 0; k < lists[i].count; k++)
                if (pawl_status_exit(lists[i].exits[k].status) == code)
                    fprintf(stream, "  %3d  %s\n", code, lists[i].exits[k].meaning);
}

static void print_usage(FILE *stream, const cli_verb *verb)
{
    const char *way = verb->usage;

    do {
        size_t length = strcspn(way, "\n");
        fprintf(stream, "  pawl %s [OPTIONS]%s%.*s\n", verb->name, length ? " " : "", (int)length,
                way);
        way += length;
    } while (*way++ == '\n');
}

static void print_verb_help(const cli_verb *verb, FILE *stream)
{
    size_t count;
    const cli_option *options = cli_verb_options(verb, &count);

    fprintf(stream, "%spawl %s%s - ", cli_style(stream, CLI_BOLD), verb->name,
            cli_style(stream, CLI_PLAIN));
    print_wrapped(stream, verb->summary, 0);
    fputc('\n', stream);
    print_wrapped(stream, verb->about, 0);
    print_help_title(stream, "Usage");
    print_usage(stream, verb);
    if (count > 0) {
        print_help_title(stream, "Options");
        print_options(stream, options, count);
    }
    print_help_title(stream, "Common options");
    print_options(stream, cli_common_options, cli_common_option_count);
    print_help_title(stream, "Examples");
    fprintf(stream, "%s\n", verb->examples);
    print_help_title(stream, "Exit codes");
    print_exits(stream, verb);
}

static void print_program_help(FILE *stream)
{
    fprintf(stream, "%spawl%s - durable messaging and scheduling on the database you have.\n",
            cli_style(stream, CLI_BOLD), cli_style(stream, CLI_PLAIN));
    print_help_title(stream, "Usage");
    fputs("  pawl VERB [ARGUMENTS] [OPTIONS]\n", stream);
    print_help_title(stream, "Verbs");
    for (size_t i = 0; cli_verbs[i]; i++)
        fprintf(stream, "  %-9s %s\n", cli_verbs[i]->name, cli_verbs[i]->summary);
    print_help_title(stream, "Common options");
    print_options(stream, cli_common_options, cli_common_option_count);
    print_help_title(stream, "Examples");
    fputs("  export PAWL_DATABASE_URL=sqlite:app.db\n"
          "  pawl init\n"
          "  pawl send mail '{\"to\": \"ann@example.org\"}'\n"
          "  pawl work --topic mail --exec ./send-mail\n"
          "\n"
          "'pawl VERB --help' describes a verb.\n",
          stream);
}

void cli_help_print(const cli_verb *verb, FILE *stream)
{
    if (verb)
        print_verb_help(verb, stream);
    else
        print_program_help(stream);
}

static pawl_status run_help(const cli_args *args, pawl_error *err)
{
    const char *name = args->words.count > 0 ? args->words.items[0] : NULL;
    const cli_verb *verb = name ? cli_verb_find(name) : NULL;
    cli_suggestion nearest = {name, NULL, 0};

    if (args->words.count > 1)
        return pawli_fail(err, PAWL_E_INVALID, "help takes one verb");
    if (name && !verb) {
        for (size_t i = 0; cli_verbs[i]; i++)
            cli_suggest(&nearest, cli_verbs[i]->name);
        PAWLI_AUTO_FREE char *hint = cli_suggestion_text(&nearest);
        return pawli_fail(err, PAWL_E_INVALID, "unknown verb '%s'%s", name, hint);
    }
    cli_help_print(verb, stdout);
    return PAWL_OK;
}

const cli_verb cli_verb_help = {
    .name = "help",
    .usage = "[VERB]",
    .summary = "describe a verb",
    .about = "Prints the same text as 'pawl VERB --help'; without a verb, the list of verbs.",
    .examples = "  pawl help\n  pawl help send",
    .no_database = true,
    .run = run_help,
};

static pawl_status run_version(const cli_args *args, pawl_error *err)
{
    json_t *list = json_array();
    json_t *document;

    (void)err;
    for (size_t i = 0; pawl_engine_built_in(i); i++)
        json_array_append_new(list, json_string(pawl_engine_built_in(i)));
    if (args->common.json) {
        document = json_object();
        cli_json_text(document, "program", PAWL_VERSION);
        cli_json_text(document, "library", pawl_version());
        json_object_set_new(document, "engines", list);
        cli_json_print(stdout, document);
        return PAWL_OK;
    }
    printf("pawl %s (library %s; engines:", PAWL_VERSION, pawl_version());
    for (size_t i = 0; i < json_array_size(list); i++)
        printf("%s %s", i > 0 ? "," : "", json_string_value(json_array_get(list, i)));
    puts(")");
    json_decref(list);
    return PAWL_OK;
}

const cli_verb cli_verb_version = {
    .name = "version",
    .usage = "",
    .summary = "print versions and the database engines built in",
    .about = "Prints the version of this program, the version of the library it runs with, "
             "and the database engines that the library supports.",
    .examples = "  pawl version\n  pawl version --json",
    .no_database = true,
    .run = run_version,
};
