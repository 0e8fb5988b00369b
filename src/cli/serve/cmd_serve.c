/* src/cli/serve/cmd_serve.c - pawl serve: the daemon: open, run until a signal, close in
 * order. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli.h"
#include "config.h"
#include "console.h"
#include "environment.h"
#include "fail.h"
#include "log.h"
#include "scope.h"
#include "serve.h"

/* ---- a service on a thread of its own ---- */

static void *run_service_thread(void *context)
{
    cli_service_thread *service = context;

    service->st = service->run(service->serve, &service->err);
    if (service->st != PAWL_OK)
        (void)eventfd_write(service->serve->ended_fd, 1);
    return NULL;
}

static pawl_status start_service_thread(cli_service_thread *service, pawl_error *err)
{
    int problem;

    if (!service->run) /* it is off */
        return PAWL_OK;
    problem = pthread_create(&service->thread, NULL, run_service_thread, service);
    if (problem != 0)
        return pawli_fail(err, PAWL_E_NOMEM, "cannot start a thread: %s", strerror(problem));
    service->runs = true;
    return PAWL_OK;
}

/* Its result; PAWL_OK if it has not run. */
static pawl_status join_service_thread(cli_service_thread *service, pawl_error *err)
{
    if (!service->runs)
        return PAWL_OK;
    pthread_join(service->thread, NULL);
    service->runs = false;
    if (service->st != PAWL_OK) {
        *err = service->err;
        pawl_log_sink log = cli_serve_log(service->serve->config);
        pawli_log(&log, PAWL_LOG_ERROR, "serve", "{service} has ended: {error}",
                  pawli_logged("service", service->name), pawli_logged("error", err->message));
    }
    return service->st;
}

/* ---- reload: services and their secrets ---- */

/* NULL: something is wrong, and has been said. */
static pawl_services *read_services(cli_serve *serve, const cli_config *config)
{
    pawl_services *services = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    for (size_t i = 0; i < config->problem_count; i++)
        cli_serve_say_error(serve->config, PAWL_LOG_ERROR, config->problems[i]);
    if (config->problem_count == 0 && cli_serve_services(config, &services, &err) == PAWL_OK)
        return services;
    if (config->problem_count == 0)
        cli_serve_say_error(serve->config, PAWL_LOG_ERROR, err.message);
    return NULL;
}

/* An invalid configuration changes nothing. */
static void reload_services(cli_serve *serve)
{
    PAWLI_AUTO(cli_config) config = cli_config_load(serve->args);
    pawl_services *services;

    cli_config_check(config);
    cli_hidden_add(config);
    services = read_services(serve, config);
    if (!services) {
        cli_serve_say(serve->config, PAWL_LOG_ERROR,
                      "the configuration was not reloaded; nothing has changed");
        return;
    }
    pawl_receiver_set_services(serve->receiver, services);
    pawl_delivery_set_services(serve->delivery, services); /* NULL is fine */
    pawl_services_unref(serve->services);
    serve->services = services;
    pawl_log_sink log = cli_serve_log(serve->config);
    pawli_log(&log, PAWL_LOG_INFO, "serve",
              "reloaded {count} services; other settings need a restart",
              pawli_logged_number("count", (int64_t)pawl_services_count(services)));
}

/* ---- signals ---- */

/* Waits for one; 0: a service has ended by itself, or at shutdown all have. */
static int next_serve_signal(const cli_serve *serve)
{
    eventfd_t ended;
    int number;

    do
        number = cli_signals_wait(&serve->signals, serve->ended_fd, -1);
    while (number == 0 && eventfd_read(serve->ended_fd, &ended) != 0);
    return number;
}

/* Before any thread is started. */
static pawl_status open_serve_signals(cli_serve *serve, pawl_error *err)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    pawl_status st = cli_signals_open(&serve->signals, numbers, PAWLI_COUNT(numbers), err);

    if (st != PAWL_OK)
        return st;
    cli_signals_ignore_pipe();
    serve->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (serve->ended_fd < 0)
        return pawli_fail(err, PAWL_E_IO, "cannot receive signals: %s", strerror(errno));
    return PAWL_OK;
}

/* ---- shutdown ---- */

typedef struct serve_shutdown {
    cli_serve *serve;
    pawl_status st; /* the first that went wrong */
    pawl_error err;
} serve_shutdown;

static void stop_services(cli_serve *serve)
{
    if (serve->worker)
        pawl_worker_request_stop(serve->worker);
    pawl_delivery_request_stop(serve->delivery); /* NULL is fine */
}

static void keep_first_error(serve_shutdown *end, pawl_status st, const pawl_error *err)
{
    if (end->st == PAWL_OK && st != PAWL_OK) {
        end->st = st;
        end->err = *err;
    }
}

/* On its own thread, since the main thread reads signals. */
static void *stop_and_wait(void *context)
{
    serve_shutdown *end = context;
    cli_serve *serve = end->serve;
    pawl_error err = PAWL_ERROR_INIT;

    pawl_receiver_stop(serve->receiver);
    keep_first_error(end, join_service_thread(&serve->delivery_thread, &err), &err);
    keep_first_error(end, join_service_thread(&serve->worker_thread, &err), &err);
    (void)eventfd_write(serve->ended_fd, 1);
    return NULL;
}

static void cancel_running(cli_serve *serve)
{
    cli_serve_say(serve->config, PAWL_LOG_WARNING,
                  "second signal: running handlers are cancelled and their messages released");
    pawl_receiver_cancel_handlers(serve->receiver);
    stop_services(serve); /* the second time skips the grace */
}

/* The first signal began the shutdown. The second ends the grace period; the third ends us as it
 * ends any other program: what is committed stays. */
static void read_shutdown_signals(cli_serve *serve)
{
    int number;
    bool cancelled = false;

    while ((number = next_serve_signal(serve)) != 0) {
        if (number == SIGHUP)
            continue;
        if (cancelled) {
            cli_signals_restore(&serve->signals);
            raise(number);
        }
        cancelled = true;
        cancel_running(serve);
    }
}

/* Stops everything, and waits for it. */
static pawl_status shut_down(cli_serve *serve, pawl_error *err)
{
    serve_shutdown end = {.serve = serve, .err = PAWL_ERROR_INIT};
    eventfd_t ignored;
    pthread_t thread;
    int problem;

    (void)eventfd_read(serve->ended_fd, &ignored); /* a service may have ended by itself */
    stop_services(serve);
    problem = pthread_create(&thread, NULL, stop_and_wait, &end);
    if (problem != 0) {
        cli_serve_say(serve->config, PAWL_LOG_WARNING,
                      "cannot start a thread; a second signal has no effect");
        stop_and_wait(&end);
    } else {
        read_shutdown_signals(serve);
        pthread_join(thread, NULL);
    }
    if (end.st != PAWL_OK)
        *err = end.err;
    return end.st;
}

/* ---- opening ---- */

/* Connections are descriptors: as many as we may have. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Before the database is opened, which may create it. */
static pawl_status try_addresses(const cli_config *config, pawl_error *err)
{
    const cli_server_settings *server = cli_config_values(config, CLI_SECTION_SERVER);
    pawl_status st = PAWL_OK;

    for (size_t i = 0; i < server->listen.count && st == PAWL_OK; i++)
        if (strcmp(server->listen.items[i], "none") != 0)
            st = pawl_address_try(server->listen.items[i], err);
    return st;
}

static pawl_status open_serve_store(cli_serve *serve, pawl_error *err)
{
    const cli_database_settings *database = cli_config_values(serve->config, CLI_SECTION_DATABASE);
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;

    cli_config_fill(serve->config, CLI_LIBRARY_store, &options);
    options.log = cli_serve_log(serve->config);
    return pawl_store_open(database->url, &options, &serve->store, err);
}

static void close_serve(cli_serve *serve)
{
    pawl_receiver_free(serve->receiver);
    pawl_delivery_free(serve->delivery);
    pawl_worker_free(serve->worker);
    pawl_services_unref(serve->services);
    pawl_store_close(serve->store);
    cli_signals_close(&serve->signals);
    if (serve->ended_fd >= 0)
        close(serve->ended_fd);
}

/* The order matters: nothing is accepted before all that it needs is there. */
static pawl_status start_serve(cli_serve *serve, pawl_error *err)
{
    pawl_status st = open_serve_store(serve, err);

    if (st == PAWL_OK)
        st = cli_serve_services(serve->config, &serve->services, err);
    if (st == PAWL_OK)
        st = cli_serve_worker(serve, err);
    if (st == PAWL_OK)
        st = cli_serve_delivery(serve, err);
    if (st == PAWL_OK)
        st = cli_serve_receiver(serve, err);
    if (st == PAWL_OK)
        st = start_service_thread(&serve->worker_thread, err);
    if (st == PAWL_OK)
        st = start_service_thread(&serve->delivery_thread, err);
    return st;
}

/* Runs until a signal. The configuration has been checked. */
static pawl_status serve_until_signal(cli_serve *serve, pawl_error *err)
{
    pawl_error end_err = PAWL_ERROR_INIT;
    pawl_status st = open_serve_signals(serve, err);
    pawl_status end;

    raise_descriptor_limit();
    cli_hidden_add(serve->config);
    if (st != PAWL_OK) {
        close_serve(serve);
        return st;
    }
    for (size_t i = 0; i < serve->config->warning_count; i++)
        cli_serve_say_error(serve->config, PAWL_LOG_WARNING, serve->config->warnings[i]);
    st = try_addresses(serve->config, err);
    if (st == PAWL_OK)
        st = start_serve(serve, err);
    if (st == PAWL_OK) {
        cli_serve_say(serve->config, PAWL_LOG_INFO, "ready");
        while (next_serve_signal(serve) == SIGHUP)
            reload_services(serve);
        cli_serve_say(serve->config, PAWL_LOG_INFO,
                      "shutting down: running work may finish; a second signal cancels it");
    }
    end = shut_down(serve, &end_err);
    if (st == PAWL_OK && end == PAWL_OK)
        cli_serve_say(serve->config, PAWL_LOG_INFO, "stopped; all leases released");
    if (st == PAWL_OK && end != PAWL_OK)
        *err = end_err;
    close_serve(serve);
    return st == PAWL_OK ? end : st;
}

static pawl_status run_serve(const cli_args *args, pawl_error *err)
{
    cli_serve serve = {
        .args = args, .config = args->config, .signals = CLI_SIGNALS_INIT, .ended_fd = -1};
    pawl_status st;

    if (args->words.count > 0)
        return pawli_fail(err, PAWL_E_INVALID, "serve takes no argument '%s'",
                          args->words.items[0]);
    cli_config_check(args->config);
    st = cli_config_refuse(args->config, err);
    return st == PAWL_OK ? serve_until_signal(&serve, err) : st;
}

const cli_verb cli_verb_serve = {
    .name = "serve",
    .usage = "",
    .summary = "run the daemon: deliver, receive, run jobs and maintenance",
    .about = "Delivers messages with a destination, signed, to the services in the "
             "configuration. Receives messages from other services at POST /_rf/receive, "
             "processes each once, and passes it to an application, a command or the outbox, "
             "as configured. Creates the runs of due jobs and runs maintenance. GET /health "
             "reports its health. It needs only a database, whose tables it creates; without "
             "a service_id it receives but does not deliver. For all settings see 'pawl "
             "config reference' or docs/configuration.md; 'pawl config check' validates them. "
             "SIGTERM and SIGINT shut it down when running work has finished; a second signal "
             "cancels that work, a third kills the process. SIGHUP reloads services and their "
             "secrets. It logs to stderr (docs/serve.md).",
    .examples = "  pawl serve --db sqlite:app.db\n"
                "  pawl serve --config pawl.ini --listen 127.0.0.1:7295\n"
                "  pawl serve --db sqlite:app.db --service-id shop",
    .make_options = cli_config_options,
    .settings_size = sizeof(cli_config_flags),
    .run = run_serve,
};
