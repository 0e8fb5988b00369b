/*
 * src/cli/serve.h - `pawl serve`: the daemon. The receiver takes what others send
 * (serve_receive.c), a worker does the housekeeping; the main thread waits for signals (serve.c).
 */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include <pthread.h>
#include <signal.h>

#include <pawl/net.h>

#include "config.h"

typedef struct cli_serve {
    const cli_args *args;
    cli_config *config;
    pawl_store *store;
    pawl_services *services;
    pawl_receiver *receiver;
    pawl_worker *worker;
    pthread_t worker_thread;
    bool worker_runs;
    pawl_error worker_err; /* why it ended; to be read after its thread */
    int signal_fd;
    int worker_fd;        /* readable when the worker has ended by itself */
    sigset_t signal_mask; /* as it was: commands start with it */
} cli_serve;

/* Until a signal. The configuration has been checked. */
pawl_status cli_serve_run(cli_serve *serve, pawl_error *err);

/* serve_log.c: the library's records on stderr, as the configuration wants them. */
pawl_log_sink cli_serve_log(const cli_config *config);
void cli_serve_say(const cli_config *config, pawl_log_level level, const char *format, ...)
    PAWL_PRINTF(3, 4);

/* serve_receive.c: what the configuration makes of the library's own things. */
pawl_status cli_serve_services(const cli_config *config, pawl_services **ret_services,
                               pawl_error *err);
pawl_status cli_serve_receiver(cli_serve *serve, pawl_error *err);

/* receive_command.c: a handler that runs a command; PAWL_E_... as pawl_receiver_handle(). */
pawl_status cli_receive_by_command(pawl_receiver *receiver, const char *topic, const char *command,
                                   size_t max_response, const sigset_t *signal_mask,
                                   const pawl_receive_options *opts, pawl_error *err);

#endif
