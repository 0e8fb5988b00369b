/*
 * src/cli/serve/serve.h - `pawl serve`: the daemon. The receiver accepts messages; two services run
 * on threads of their own: a worker runs maintenance and schedules jobs, and the delivery sends.
 * The main thread waits for signals, reloads the services and shuts everything down in order.
 */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include <pthread.h>

#include <pawl/net.h>

#include "config.h"
#include "signals.h"

typedef struct cli_serve cli_serve;

/* A service that runs on a thread of its own until it is stopped. */
typedef struct cli_service_thread {
    const char *name;
    pawl_status (*run)(cli_serve *serve, pawl_error *err); /* NULL: it is off */
    cli_serve *serve;
    pthread_t thread;
    bool runs;      /* the thread exists and must be joined */
    pawl_status st; /* its result; read it after joining the thread */
    pawl_error err; /* the error */
} cli_service_thread;

struct cli_serve {
    const cli_args *args;
    cli_config *config;
    pawl_store *store;
    pawl_services *services;
    pawl_receiver *receiver;
    pawl_worker *worker;
    pawl_delivery *delivery; /* NULL: disabled */
    cli_service_thread worker_thread;
    cli_service_thread delivery_thread;
    cli_signals signals;
    int ended_fd; /* readable when a service has ended by itself, or all have ended at shutdown */
};

/* serve_log.c: the library's records on stderr, in the configured format. */
pawl_log_sink cli_serve_log(const cli_config *config);
/* A sentence without values. Others: pawli_log() with that sink. */
void cli_serve_say(const cli_config *config, pawl_log_level level, const char *text);
void cli_serve_say_error(const cli_config *config, pawl_log_level level, const char *error);

/* serve_setup.c: creates the library's objects from the configuration; nothing runs yet. */
pawl_status cli_serve_services(const cli_config *config, pawl_services **ret_services,
                               pawl_error *err);
pawl_status cli_serve_worker(cli_serve *serve, pawl_error *err);
pawl_status cli_serve_delivery(cli_serve *serve, pawl_error *err);
pawl_status cli_serve_receiver(cli_serve *serve, pawl_error *err);

/* command_handler.c: registers a handler that runs a command; errors as pawl_receiver_handle(). */
pawl_status cli_serve_command_handler(pawl_receiver *receiver, const char *topic,
                                      const char *command, size_t max_response,
                                      const sigset_t *sigmask, const pawl_receive_options *opts,
                                      pawl_error *err);

#endif
