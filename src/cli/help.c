/* src/cli/help.c - help, made from the tables of options. */
#include <stdarg.h>
#include <string.h>

#include "help.h"
#include "output.h"

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

static void print_title(FILE *stream, const char *title)
{
    fprintf(stream, "\n%s%s%s\n", cli_style(stream, CLI_BOLD), title, cli_style(stream, CLI_PLAIN));
}

/* "  left           right, wrapped" */
static void print_pair(FILE *stream, const char *left, const char *right)
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
        print_pair(stream, left, option->help);
    }
}

static const cli_exit always[] = {{PAWL_OK, "done"},
                                  {PAWL_E_INVALID, "the command line is wrong; nothing was done"}};
static const cli_exit with_database[] = {
    {PAWL_E_UNAVAILABLE, "the database is not reachable"},
    {PAWL_E_BUSY, "the database is busy or timed out; try again"},
    {PAWL_E_NO_SCHEMA, "pawl's tables are missing or of another version; see pawl init"},
};

/* The codes of this verb in rising order. */
static void print_exits(FILE *stream, const cli_verb *verb)
{
    const struct {
        const cli_exit *exits;
        size_t count;
    } lists[] = {{always, CLI_COUNT(always)},
                 {verb->exits, verb->exit_count},
                 {with_database, verb->no_database ? 0 : CLI_COUNT(with_database)}};

    for (int code = 0; code < 256; code++)
        for (size_t i = 0; i < CLI_COUNT(lists); i++)
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

static void print_verb(const cli_verb *verb, FILE *stream)
{
    size_t count;
    const cli_option *options = cli_verb_options(verb, &count);

    fprintf(stream, "%spawl %s%s - ", cli_style(stream, CLI_BOLD), verb->name,
            cli_style(stream, CLI_PLAIN));
    print_wrapped(stream, verb->summary, 0);
    fputc('\n', stream);
    print_wrapped(stream, verb->about, 0);
    print_title(stream, "Usage");
    print_usage(stream, verb);
    if (count > 0) {
        print_title(stream, "Options");
        print_options(stream, options, count);
    }
    print_title(stream, "Common options");
    print_options(stream, cli_common_options, cli_common_option_count);
    print_title(stream, "Examples");
    fprintf(stream, "%s\n", verb->examples);
    print_title(stream, "Exit codes");
    print_exits(stream, verb);
}

static void print_program(FILE *stream)
{
    fprintf(stream, "%spawl%s - durable messaging and scheduling on the database you have.\n",
            cli_style(stream, CLI_BOLD), cli_style(stream, CLI_PLAIN));
    print_title(stream, "Usage");
    fputs("  pawl VERB [ARGUMENTS] [OPTIONS]\n", stream);
    print_title(stream, "Verbs");
    for (size_t i = 0; cli_verbs[i]; i++)
        fprintf(stream, "  %-9s %s\n", cli_verbs[i]->name, cli_verbs[i]->summary);
    print_title(stream, "Common options");
    print_options(stream, cli_common_options, cli_common_option_count);
    print_title(stream, "Examples");
    fputs("  export PAWL_DATABASE_URL=sqlite:app.db\n"
          "  pawl init\n"
          "  pawl send mail '{\"to\": \"ann@example.org\"}'\n"
          "  pawl work --topic mail --exec ./send-mail\n\n"
          "'pawl VERB --help' explains a verb.\n",
          stream);
}

void cli_help_print(const cli_verb *verb, FILE *stream)
{
    if (verb)
        print_verb(verb, stream);
    else
        print_program(stream);
}
