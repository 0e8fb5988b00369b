/* src/cli/main.c - the program: read the arguments, run the verb, report once. */
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "cli.h"
#include "console.h"
#include "fail.h"
#include "scope.h"

/* A descriptor below 3 must never become a database or a pipe: children inherit those. */
static void open_standard_streams(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

static int exit_code;

void cli_exit_with(int code)
{
    exit_code = code;
}

static pawl_status run_verb(const cli_args *args, pawl_error *err)
{
    if (args->common.version)
        return cli_verb_version.run(args, err);
    if (args->common.help) {
        cli_help_print(args->verb, stdout);
        return PAWL_OK;
    }
    if (!args->verb)
        return pawli_fail(err, PAWL_E_INVALID, "no command given; try 'pawl help'");
    return args->verb->run(args, err);
}

int main(int argc, char **argv)
{
    cli_args args = {0};
    pawl_error err = PAWL_ERROR_INIT;
    bool json = cli_args_want_json(argc, argv);
    pawl_status st;

    open_standard_streams();
    setlocale(LC_CTYPE, "C.UTF-8");
    if (argc < 2) {
        cli_help_print(NULL, stderr);
        return pawl_status_exit(PAWL_E_INVALID);
    }
    st = cli_args_parse(&args, argc, argv, &err);
    if (st == PAWL_OK)
        st = run_verb(&args, &err);
    if (st == PAWL_OK)
        st = cli_output_end(&err);
    else
        fflush(stdout); /* what was found comes before what went wrong */
    if (st != PAWL_OK && err.status != PAWL_OK)
        cli_fail_print(&err, args.verb ? args.verb->name : NULL, json);
    cli_args_done(&args);
    return st == PAWL_OK ? exit_code : pawl_status_exit(st);
}

#define CLI_VERB_ADDRESS(verb) &cli_verb_##verb,
const cli_verb *const cli_verbs[] = {CLI_VERBS(CLI_VERB_ADDRESS) NULL};

/* What the same is called elsewhere. */
static const struct {
    const char *name;
    const char *verb;
} verb_aliases[] = {{"redrive", "retry"}, {"requeue", "retry"}};

const cli_verb *cli_verb_find(const char *name)
{
    for (size_t i = 0; i < PAWLI_COUNT(verb_aliases); i++)
        if (strcmp(verb_aliases[i].name, name) == 0)
            name = verb_aliases[i].verb;
    for (size_t i = 0; cli_verbs[i]; i++)
        if (strcmp(cli_verbs[i]->name, name) == 0)
            return cli_verbs[i];
    return NULL;
}

const cli_option *cli_verb_options(const cli_verb *verb, size_t *ret_count)
{
    if (verb->make_options)
        return verb->make_options(ret_count);
    *ret_count = verb->option_count;
    return verb->options;
}
