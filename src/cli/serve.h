/*
 * src/cli/serve.h - `pawl serve`: the daemon. The receiver accepts messages (serve_receive.c); two
 * services run on threads of their own (serve_duty.c): a worker runs maintenance and schedules
 * jobs, and the delivery sends. The main thread waits for signals (serve.c), reloads the services
 * (serve_reload.c) and shuts everything down in order (serve_end.c).
 */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include <pthread.h>
#include <signal.h>

#include <pawl/net.h>

#include "config.h"

typedef struct cli_serve cli_serve;

/* A service that runs on a thread of its own until it is told to stop. */
typedef struct cli_duty {
    const char *name;
    pawl_status (*run)(cli_serve *serve, pawl_error *err);
    cli_serve *serve;
    pthread_t thread;
    bool runs;      /* the thread exists and must be joined */
    pawl_status st; /* its result; read it after joining the thread */
    pawl_error err; /* the error */
} cli_duty;

struct cli_serve {
    const cli_args *args;
    cli_config *config;
    pawl_store *store;
    pawl_services *services;
    pawl_receiver *receiver;
    pawl_worker *worker;
    pawl_delivery *delivery; /* NULL: disabled */
    cli_duty worker_duty;
    cli_duty delivery_duty;
    int signal_fd;
    int ended_fd; /* readable when a service has ended by itself, or all have ended at shutdown */
    sigset_t signal_mask; /* the original mask: commands start with it */
};

/* Runs until a signal. The configuration has been checked. */
pawl_status cli_serve_run(cli_serve *serve, pawl_error *err);

/* serve_log.c: the library's records on stderr, in the configured format. */
pawl_log_sink cli_serve_log(const cli_config *config);
void cli_serve_say(const cli_config *config, pawl_log_level level, const char *format, ...)
    PAWL_PRINTF(3, 4);

/* serve_receive.c: creates the library's objects from the configuration. */
pawl_status cli_serve_services(const cli_config *config, pawl_services **ret_services,
                               pawl_error *err);
pawl_status cli_serve_receiver(cli_serve *serve, pawl_error *err);

/* serve_duty.c: creates the services without running them, starts them, waits for them. */
pawl_status cli_serve_worker(cli_serve *serve, pawl_error *err);
pawl_status cli_serve_delivery(cli_serve *serve, pawl_error *err);
pawl_status cli_duty_start(cli_duty *duty, pawl_error *err);
/* Its result; PAWL_OK if it has not run. */
pawl_status cli_duty_join(cli_duty *duty, pawl_error *err);

/* serve_reload.c: reloads services and their secrets. An invalid configuration changes nothing. */
void cli_serve_reload(cli_serve *serve);

/*
 * serve_end.c: stops everything, and waits for it; a second signal ends the grace period, a third
 * one kills.
 */
pawl_status cli_serve_end(cli_serve *serve, pawl_error *err);

/*
 * receive_command.c: registers a handler that runs a command; PAWL_E_... as pawl_receiver_handle().
 */
pawl_status cli_receive_by_command(pawl_receiver *receiver, const char *topic, const char *command,
                                   size_t max_response, const sigset_t *signal_mask,
                                   const pawl_receive_options *opts, pawl_error *err);

#endif
