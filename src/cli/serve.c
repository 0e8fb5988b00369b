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
#include "hidden.h"

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
    serve->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (serve->signal_fd < 0 || serve->ended_fd < 0)
        return cli_fail(err, PAWL_E_IO, "cannot receive signals: %s", strerror(errno));
    return PAWL_OK;
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

/* ---- while it runs ---- */

/* Until a signal says that it is time to end, or something ended by itself. */
static void wait_for_end(cli_serve *serve)
{
    for (;;) {
        struct pollfd fds[] = {{serve->signal_fd, POLLIN, 0}, {serve->ended_fd, POLLIN, 0}};
        struct signalfd_siginfo info;
        if (poll(fds, 2, -1) < 0)
            continue;
        if (fds[1].revents)
            return;
        if (read(serve->signal_fd, &info, sizeof info) != (ssize_t)sizeof info)
            continue;
        if (info.ssi_signo != SIGHUP)
            return;
        cli_serve_reload(serve);
    }
}

/* ---- closing ---- */

static void close_all(cli_serve *serve)
{
    pawl_receiver_free(serve->receiver);
    pawl_delivery_free(serve->delivery);
    pawl_worker_free(serve->worker);
    pawl_services_unref(serve->services);
    pawl_store_close(serve->store);
    if (serve->signal_fd >= 0)
        close(serve->signal_fd);
    if (serve->ended_fd >= 0)
        close(serve->ended_fd);
}

/* The order matters: nothing is accepted before all that it needs is there. */
static pawl_status start_all(cli_serve *serve, pawl_error *err)
{
    pawl_status st = open_store(serve, err);

    if (st == PAWL_OK)
        st = cli_serve_services(serve->config, &serve->services, err);
    if (st == PAWL_OK)
        st = cli_serve_worker(serve, err);
    if (st == PAWL_OK)
        st = cli_serve_delivery(serve, err);
    if (st == PAWL_OK)
        st = cli_serve_receiver(serve, err);
    if (st == PAWL_OK)
        st = cli_duty_start(&serve->worker_duty, err);
    if (st == PAWL_OK)
        st = cli_duty_start(&serve->delivery_duty, err);
    return st;
}

pawl_status cli_serve_run(cli_serve *serve, pawl_error *err)
{
    pawl_error end_err = PAWL_ERROR_INIT;
    pawl_status st = catch_signals(serve, err);
    pawl_status end;

    raise_descriptor_limit();
    cli_hidden_add(serve->config);
    if (st != PAWL_OK) {
        close_all(serve);
        return st;
    }
    for (size_t i = 0; i < serve->config->warning_count; i++)
        cli_serve_say(serve->config, PAWL_LOG_WARNING, "%s", serve->config->warnings[i]);
    st = try_addresses(serve->config, err);
    if (st == PAWL_OK)
        st = start_all(serve, err);
    if (st == PAWL_OK) {
        cli_serve_say(serve->config, PAWL_LOG_INFO, "ready");
        wait_for_end(serve);
        cli_serve_say(serve->config, PAWL_LOG_INFO,
                      "stopping: what has begun is finished; a second signal hurries it");
    }
    end = cli_serve_end(serve, &end_err);
    if (st == PAWL_OK && end == PAWL_OK)
        cli_serve_say(serve->config, PAWL_LOG_INFO, "stopped; nothing is held any more");
    if (st == PAWL_OK && end != PAWL_OK)
        *err = end_err;
    close_all(serve);
    return st == PAWL_OK ? end : st;
}
