/* src/cli/serve_duty.c - what the daemon does by itself: keeping house, and sending. */
#include <string.h>
#include <sys/eventfd.h>

#include "fail.h"
#include "serve.h"

/* ---- a thread ---- */

static void *run_duty(void *context)
{
    cli_duty *duty = context;

    duty->st = duty->run(duty->serve, &duty->err);
    if (duty->st != PAWL_OK)
        (void)eventfd_write(duty->serve->ended_fd, 1);
    return NULL;
}

pawl_status cli_duty_start(cli_duty *duty, pawl_error *err)
{
    int problem;

    if (!duty->run) /* it is off */
        return PAWL_OK;
    problem = pthread_create(&duty->thread, NULL, run_duty, duty);
    if (problem != 0)
        return cli_fail(err, PAWL_E_NOMEM, "cannot start a thread: %s", strerror(problem));
    duty->runs = true;
    return PAWL_OK;
}

pawl_status cli_duty_join(cli_duty *duty, pawl_error *err)
{
    if (!duty->runs)
        return PAWL_OK;
    pthread_join(duty->thread, NULL);
    duty->runs = false;
    if (duty->st != PAWL_OK) {
        *err = duty->err;
        cli_serve_say(duty->serve->config, PAWL_LOG_ERROR, "%s has ended: %s", duty->name,
                      err->message);
    }
    return duty->st;
}

/* ---- keeping house ---- */

static pawl_status run_worker(cli_serve *serve, pawl_error *err)
{
    return pawl_worker_run(serve->worker, err);
}

pawl_status cli_serve_worker(cli_serve *serve, pawl_error *err)
{
    const cli_worker_settings *worker = cli_config_values(serve->config, CLI_SECTION_WORKER);
    const cli_inbox_settings *inbox = cli_config_values(serve->config, CLI_SECTION_INBOX);
    const cli_server_settings *server = cli_config_values(serve->config, CLI_SECTION_SERVER);
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;

    options.chores_only = true;
    options.concurrency = 1;
    options.grace_ms = server->grace_ms;
    options.retention_ms = worker->retention_ms;
    options.chore_every_ms[PAWL_CHORE_REAP] = worker->reap_ms;
    options.chore_every_ms[PAWL_CHORE_EXPIRE] = worker->expire_ms;
    options.chore_every_ms[PAWL_CHORE_RETAIN] = worker->retain_ms;
    options.chore_every_ms[PAWL_CHORE_INBOX] = inbox->cleanup_ms;
    serve->worker_duty = (cli_duty){.name = "housekeeping", .run = run_worker, .serve = serve};
    return pawl_worker_new(serve->store, &options, &serve->worker, err);
}

/* ---- sending ---- */

static pawl_status run_delivery(cli_serve *serve, pawl_error *err)
{
    return pawl_delivery_run(serve->delivery, err);
}

static pawl_delivery_options delivery_options(const cli_config *config)
{
    const cli_delivery_settings *delivery = cli_config_values(config, CLI_SECTION_DELIVERY);
    const cli_server_settings *server = cli_config_values(config, CLI_SECTION_SERVER);
    pawl_delivery_options options = PAWL_DELIVERY_OPTIONS_INIT;

    options.source = server->service_id;
    options.batch = (int)delivery->batch;
    options.max_in_flight = (int)delivery->concurrency;
    options.lease_ms = delivery->lease_ms;
    options.grace_ms = server->grace_ms;
    options.breaker_failures = (int)delivery->breaker_failures;
    options.breaker_open.base_ms = delivery->breaker_base_ms;
    options.breaker_open.max_ms = delivery->breaker_max_ms;
    options.retry_after_max_ms = delivery->retry_after_max_ms;
    options.responses = delivery->responses;
    options.response_topic = delivery->response_topic;
    options.log = cli_serve_log(config);
    return options;
}

pawl_status cli_serve_delivery(cli_serve *serve, pawl_error *err)
{
    const cli_delivery_settings *delivery = cli_config_values(serve->config, CLI_SECTION_DELIVERY);
    pawl_delivery_options options = delivery_options(serve->config);

    if (!delivery->enabled) {
        cli_serve_say(serve->config, PAWL_LOG_INFO,
                      "delivery is off, as [delivery] enabled says: messages with a destination "
                      "wait");
        return PAWL_OK;
    }
    if (!options.source) {
        cli_serve_say(serve->config, PAWL_LOG_WARNING,
                      "delivery is off: messages with a destination wait. To send them, give this "
                      "service a name: service_id in [server], PAWL_SERVER_SERVICE_ID or "
                      "--service-id");
        return PAWL_OK;
    }
    serve->delivery_duty = (cli_duty){.name = "delivery", .run = run_delivery, .serve = serve};
    return pawl_delivery_new(serve->store, serve->services, &options, &serve->delivery, err);
}
