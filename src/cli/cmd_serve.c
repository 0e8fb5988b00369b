/* src/cli/cmd_serve.c - pawl serve: the daemon. */
#include "cli.h"
#include "config.h"
#include "fail.h"
#include "serve.h"

static pawl_status run(const cli_args *args, pawl_error *err)
{
    cli_serve serve = {.args = args, .config = args->config, .signal_fd = -1, .ended_fd = -1};
    pawl_status st;

    if (args->words.count > 0)
        return cli_fail(err, PAWL_E_INVALID, "serve takes no words; '%s' is one",
                        args->words.items[0]);
    cli_config_check(args->config);
    st = cli_config_refuse(args->config, err);
    return st == PAWL_OK ? cli_serve_run(&serve, err) : st;
}

const cli_verb cli_verb_serve = {
    .name = "serve",
    .usage = "",
    .summary = "the daemon: send to other services, receive from them, keep house",
    .about = "Sends the messages that have a destination to the services of the configuration, "
             "signed. Takes messages of other services at POST /_rf/receive, lets each have its "
             "effect once, and gives it to an application, to a command or to the outbox, as the "
             "configuration says. Makes the runs of jobs that are due, and keeps house. GET "
             "/health tells how it is. It needs nothing but a database, whose tables it creates; "
             "without a service_id it receives and does not send. All settings: 'pawl config "
             "reference' or docs/configuration.md; 'pawl config check' looks at them. SIGTERM and "
             "SIGINT end it when what has begun is done; a second one cancels that, a third kills. "
             "SIGHUP reads services and their secrets anew. It logs to stderr: docs/serve.md.",
    .examples = "  pawl serve --db sqlite:app.db\n"
                "  pawl serve --config pawl.ini --listen 127.0.0.1:7295\n"
                "  pawl serve --db sqlite:app.db --service-id shop",
    .make_options = cli_config_options,
    .settings_size = sizeof(cli_config_flags),
    .run = run,
};
