/* src/cli/commands/cmd_config.c - pawl config: what `pawl serve` would run with, and what is wrong
 * with it. */
#include <stdio.h>

#include "cli.h"
#include "config.h"
#include "console.h"
#include "fail.h"

typedef struct config_subcommand {
    const char *name;
    pawl_status (*run)(const cli_args *args, pawl_error *err);
} config_subcommand;

static void print_problems(const cli_config *config)
{
    for (size_t i = 0; i < config->problem_count; i++)
        cli_note("%s%s%s", cli_style(stderr, CLI_RED), config->problems[i],
                 cli_style(stderr, CLI_PLAIN));
}

static void print_warnings(const cli_config *config)
{
    for (size_t i = 0; i < config->warning_count; i++)
        cli_note("%s%s%s", cli_style(stderr, CLI_YELLOW), config->warnings[i],
                 cli_style(stderr, CLI_PLAIN));
}

static json_t *texts_json(char *const *texts, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_string(texts[i]));
    return list;
}

static json_t *problems_json(const cli_config *config)
{
    json_t *document = json_object();

    cli_json_text(document, "file", config->path);
    json_object_set_new(document, "good", json_boolean(config->problem_count == 0));
    json_object_set_new(document, "problems", texts_json(config->problems, config->problem_count));
    json_object_set_new(document, "warnings", texts_json(config->warnings, config->warning_count));
    return document;
}

/* The problems have been printed: there is nothing left to say. */
static pawl_status config_status(const cli_config *config)
{
    return config->problem_count == 0 ? PAWL_OK : PAWL_E_INVALID;
}

static pawl_status run_config_show(const cli_args *args, pawl_error *err)
{
    cli_config *config = args->config;

    (void)err;
    cli_config_print(config, args->common.json);
    fflush(stdout);
    print_problems(config);
    return config_status(config);
}

static pawl_status run_config_check(const cli_args *args, pawl_error *err)
{
    cli_config *config = args->config;

    (void)err;
    cli_config_check(config);
    if (args->common.json) {
        cli_json_print(stdout, problems_json(config));
        return config_status(config);
    }
    print_warnings(config);
    print_problems(config);
    if (config->problem_count == 0)
        puts("The configuration is valid.");
    else
        cli_note("%zu problem%s", config->problem_count, config->problem_count == 1 ? "" : "s");
    return config_status(config);
}

static pawl_status run_config_reference(const cli_args *args, pawl_error *err)
{
    (void)args;
    (void)err;
    cli_config_reference(stdout);
    return PAWL_OK;
}

static const config_subcommand config_subcommands[] = {
    {"show", run_config_show}, {"check", run_config_check}, {"reference", run_config_reference}};

static const char config_usage[] =
    "use 'pawl config show', 'pawl config check' or 'pawl config reference'";

static pawl_status run_config(const cli_args *args, pawl_error *err)
{
    const config_subcommand *action = CLI_SUBCOMMAND(args, config_subcommands, config_usage, err);

    if (!action)
        return PAWL_E_INVALID;
    if (args->words.count > 1)
        return pawli_fail(err, PAWL_E_INVALID, "config %s takes no argument '%s'", action->name,
                          args->words.items[1]);
    return action->run(args, err);
}

const cli_verb cli_verb_config = {
    .name = "config",
    .usage = "show\ncheck\nreference",
    .summary = "show and check the configuration of pawl serve",
    .about = "'config show' prints all effective settings as a configuration file, with the "
             "source of each: flag, environment, line of the file, default. It shows the "
             "source of a secret, not its value. 'config check' reports all errors, not only "
             "the first, and exits with 64 if there are any; it warns of services without a "
             "secret. 'config reference' prints the manual of all settings. All take the "
             "options of pawl serve.",
    .examples = "  pawl config check --config pawl.ini\n"
                "  pawl config show --config pawl.ini --listen 127.0.0.1:8080",
    .make_options = cli_config_options,
    .settings_size = sizeof(cli_config_flags),
    .no_database = true,
    .run = run_config,
};
