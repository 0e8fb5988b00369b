/* src/cli/serve.c - the daemon's life: open, run until a signal, close in order. */
#include "serve.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "fail.h"

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

/* Before any thread is started: signals are read, not delivered. */
static pawl_status catch_signals(cli_serve *serve, pawl_error *err)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t wanted;

    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGHUP);
    sigaction(SIGCHLD, &action, NULL); /* ignored (it may be inherited) would lose exit statuses */
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    pthread_sigmask(SIG_BLOCK, &wanted, &serve->signal_mask);
    serve->signal_fd = signalfd(-1, &wanted, SFD_CLOEXEC);
    serve->worker_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (serve->signal_fd < 0 || serve->worker_fd < 0)
        return cli_fail(err, PAWL_E_IO, "cannot receive signals: %s", strerror(errno));
    return PAWL_OK;
}

static pawl_status open_store(cli_serve *serve, pawl_error *err)
{
    const cli_database_settings *database = cli_config_values(serve->config, CLI_SECTION_DATABASE);
    const cli_inbox_settings *inbox = cli_config_values(serve->config, CLI_SECTION_INBOX);
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;

    options.schema = database->schema;
    options.table_prefix = database->prefix;
    options.deploy_schema = database->deploy;
    options.durability = (pawl_durability)database->durability;
    options.timeout_ms = database->timeout_ms;
    options.pool_size = (int)database->pool_size;
    options.inbox_keep_ms = inbox->retention_ms;
    options.inbox_retry_window_ms = inbox->retry_window_ms;
    options.log = cli_serve_log(serve->config);
    return pawl_store_open(database->url, &options, &serve->store, err);
}

/* ---- housekeeping ---- */

static void *run_worker(void *context)
{
    cli_serve *serve = context;

    if (pawl_worker_run(serve->worker, &serve->worker_err) != PAWL_OK)
        (void)eventfd_write(serve->worker_fd, 1);
    return NULL;
}

static pawl_status start_worker(cli_serve *serve, pawl_error *err)
{
    const cli_worker_settings *worker = cli_config_values(serve->config, CLI_SECTION_WORKER);
    const cli_inbox_settings *inbox = cli_config_values(serve->config, CLI_SECTION_INBOX);
    const cli_server_settings *server = cli_config_values(serve->config, CLI_SECTION_SERVER);
    pawl_worker_options options = PAWL_WORKER_OPTIONS_INIT;
    pawl_status st;
    int problem;

    options.chores_only = true;
    options.concurrency = 1;
    options.grace_ms = server->grace_ms;
    options.retention_ms = worker->retention_ms;
    options.chore_every_ms[PAWL_CHORE_REAP] = worker->reap_ms;
    options.chore_every_ms[PAWL_CHORE_EXPIRE] = worker->expire_ms;
    options.chore_every_ms[PAWL_CHORE_RETAIN] = worker->retain_ms;
    options.chore_every_ms[PAWL_CHORE_INBOX] = inbox->cleanup_ms;
    st = pawl_worker_new(serve->store, &options, &serve->worker, err);
    if (st != PAWL_OK)
        return st;
    problem = pthread_create(&serve->worker_thread, NULL, run_worker, serve);
    if (problem != 0)
        return cli_fail(err, PAWL_E_NOMEM, "cannot start a thread: %s", strerror(problem));
    serve->worker_runs = true;
    return PAWL_OK;
}

/* ---- while it runs ---- */

/* SIGHUP: services and their secrets. What is wrong changes nothing. */
static void reload(cli_serve *serve)
{
    CLI_AUTO(cli_config) config = cli_config_load(serve->args, serve->args->settings);
    pawl_services *services = NULL;
    pawl_error err = PAWL_ERROR_INIT;

    cli_config_check(config);
    for (size_t i = 0; i < config->problem_count; i++)
        cli_serve_say(serve->config, PAWL_LOG_ERROR, "%s", config->problems[i]);
    if (config->problem_count > 0) {
        cli_serve_say(serve->config, PAWL_LOG_ERROR,
                      "the configuration was not read anew: nothing has changed");
        return;
    }
    if (cli_serve_services(config, &services, &err) != PAWL_OK) {
        cli_serve_say(serve->config, PAWL_LOG_ERROR, "the services were not read anew: %s",
                      err.message);
        return;
    }
    pawl_receiver_replace_services(serve->receiver, services);
    pawl_services_unref(serve->services);
    serve->services = services;
    cli_serve_say(serve->config, PAWL_LOG_INFO, "%zu services and their secrets were read anew",
                  pawl_services_count(services));
}

/* PAWL_OK: a signal says that it is time to end. */
static pawl_status wait_for_end(cli_serve *serve, pawl_error *err)
{
    for (;;) {
        struct pollfd fds[] = {{serve->signal_fd, POLLIN, 0}, {serve->worker_fd, POLLIN, 0}};
        struct signalfd_siginfo info;
        if (poll(fds, 2, -1) < 0)
            continue;
        if (fds[1].revents) {
            pthread_join(serve->worker_thread, NULL);
            serve->worker_runs = false;
            *err = serve->worker_err;
            return err->status;
        }
        if (read(serve->signal_fd, &info, sizeof info) != (ssize_t)sizeof info)
            continue;
        if (info.ssi_signo != SIGHUP)
            return PAWL_OK;
        reload(serve);
    }
}

/* ---- closing ---- */

/* A second signal ends the process as it would any other: what is committed stays. */
static void let_signals_kill(const cli_serve *serve)
{
    pthread_sigmask(SIG_SETMASK, &serve->signal_mask, NULL);
}

static void close_all(cli_serve *serve)
{
    pawl_receiver_free(serve->receiver);
    if (serve->worker_runs) {
        pawl_worker_stop(serve->worker);
        pthread_join(serve->worker_thread, NULL);
    }
    pawl_worker_free(serve->worker);
    pawl_services_unref(serve->services);
    pawl_store_close(serve->store);
    if (serve->signal_fd >= 0)
        close(serve->signal_fd);
    if (serve->worker_fd >= 0)
        close(serve->worker_fd);
}

pawl_status cli_serve_run(cli_serve *serve, pawl_error *err)
{
    pawl_status st = catch_signals(serve, err);

    raise_descriptor_limit();
    if (st == PAWL_OK)
        st = open_store(serve, err);
    if (st == PAWL_OK)
        st = cli_serve_services(serve->config, &serve->services, err);
    if (st == PAWL_OK)
        st = start_worker(serve, err);
    if (st == PAWL_OK)
        st = cli_serve_receiver(serve, err);
    if (st == PAWL_OK) {
        cli_serve_say(serve->config, PAWL_LOG_INFO, "ready");
        st = wait_for_end(serve, err);
        cli_serve_say(serve->config, st == PAWL_OK ? PAWL_LOG_INFO : PAWL_LOG_ERROR, "stopping");
    }
    let_signals_kill(serve);
    close_all(serve);
    return st;
}
