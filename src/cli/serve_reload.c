/* src/cli/serve_reload.c - SIGHUP: the services and their secrets are read anew. */
#include "hidden.h"
#include "serve.h"

/* NULL: something is wrong, and has been said. */
static pawl_services *read_services(cli_serve *serve, const cli_config *config)
{
    pawl_services *services = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    for (size_t i = 0; i < config->problem_count; i++)
        cli_serve_say(serve->config, PAWL_LOG_ERROR, "%s", config->problems[i]);
    if (config->problem_count == 0 && cli_serve_services(config, &services, &err) == PAWL_OK)
        return services;
    if (config->problem_count == 0)
        cli_serve_say(serve->config, PAWL_LOG_ERROR, "%s", err.message);
    return NULL;
}

void cli_serve_reload(cli_serve *serve)
{
    CLI_AUTO(cli_config) config = cli_config_load(serve->args);
    pawl_services *services;

    cli_config_check(config);
    cli_hidden_add(config);
    services = read_services(serve, config);
    if (!services) {
        cli_serve_say(serve->config, PAWL_LOG_ERROR,
                      "the configuration was not read anew: nothing has changed");
        return;
    }
    pawl_receiver_replace_services(serve->receiver, services);
    pawl_delivery_use(serve->delivery, services); /* NULL is fine */
    pawl_services_unref(serve->services);
    serve->services = services;
    cli_serve_say(serve->config, PAWL_LOG_INFO,
                  "%zu services and their secrets were read anew; other settings need a restart",
                  pawl_services_count(services));
}
