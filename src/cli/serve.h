/*
 * src/cli/serve.h - `pawl serve`: the daemon. The receiver takes what others send
 * (serve_receive.c); two duties run on threads of their own (serve_duty.c): a worker keeps house
 * and schedules jobs, the delivery sends. The main thread waits for signals (serve.c), reads the
 * services anew (serve_reload.c) and ends everything in order (serve_end.c).
 */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include <pthread.h>
#include <signal.h>

#include <pawl/net.h>

#include "config.h"

typedef struct cli_serve cli_serve;

/* Something that runs until it is told to stop, on a thread of its own. */
typedef struct cli_duty {
    const char *name;
    pawl_status (*run)(cli_serve *serve, pawl_error *err);
    cli_serve *serve;
    pthread_t thread;
    bool runs;      /* the thread is there and has to be joined */
    pawl_status st; /* how it ended; to be read after its thread */
    pawl_error err; /* why */
} cli_duty;

struct cli_serve {
    const cli_args *args;
    cli_config *config;
    pawl_store *store;
    pawl_services *services;
    pawl_receiver *receiver;
    pawl_worker *worker;
    pawl_delivery *delivery; /* NULL: it is off */
    cli_duty worker_duty;
    cli_duty delivery_duty;
    int signal_fd;
    int ended_fd;         /* readable when a duty has ended by itself, or all have when stopping */
    sigset_t signal_mask; /* as it was: commands start with it */
};

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

/* serve_duty.c: made, but not running; started; waited for. */
pawl_status cli_serve_worker(cli_serve *serve, pawl_error *err);
pawl_status cli_serve_delivery(cli_serve *serve, pawl_error *err);
pawl_status cli_duty_start(cli_duty *duty, pawl_error *err);
/* How it ended; PAWL_OK if it has not run. */
pawl_status cli_duty_join(cli_duty *duty, pawl_error *err);

/* serve_reload.c: services and their secrets. What is wrong changes nothing. */
void cli_serve_reload(cli_serve *serve);

/* serve_end.c: stop everything, and wait for it; a second signal hurries, a third kills. */
pawl_status cli_serve_end(cli_serve *serve, pawl_error *err);

/* receive_command.c: a handler that runs a command; PAWL_E_... as pawl_receiver_handle(). */
pawl_status cli_receive_by_command(pawl_receiver *receiver, const char *topic, const char *command,
                                   size_t max_response, const sigset_t *signal_mask,
                                   const pawl_receive_options *opts, pawl_error *err);

#endif
