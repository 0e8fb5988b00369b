/* src/cli/serve_end.c - the daemon's end: everything stops, what has begun is finished. */
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "fail.h"
#include "serve.h"

typedef struct ending {
    cli_serve *serve;
    pawl_status st; /* the first that went wrong */
    pawl_error err;
} ending;

static void stop_duties(cli_serve *serve)
{
    if (serve->worker)
        pawl_worker_stop(serve->worker);
    pawl_delivery_stop(serve->delivery); /* NULL is fine */
}

static void keep_first(ending *end, pawl_status st, const pawl_error *err)
{
    if (end->st == PAWL_OK && st != PAWL_OK) {
        end->st = st;
        end->err = *err;
    }
}

/* On a thread of its own, since the main one goes on to hear signals. */
static void *stop_and_wait(void *context)
{
    ending *end = context;
    cli_serve *serve = end->serve;
    pawl_error err = PAWL_ERROR_INIT;

    pawl_receiver_stop(serve->receiver);
    keep_first(end, cli_duty_join(&serve->delivery_duty, &err), &err);
    keep_first(end, cli_duty_join(&serve->worker_duty, &err), &err);
    (void)eventfd_write(serve->ended_fd, 1);
    return NULL;
}

static void hurry(cli_serve *serve)
{
    cli_serve_say(serve->config, PAWL_LOG_WARNING,
                  "in a hurry: what still runs is cancelled, and given back");
    pawl_receiver_hurry(serve->receiver);
    stop_duties(serve); /* the second time skips the grace */
}

/* As a signal ends any other program: what is committed stays. */
static void let_signals_kill(const cli_serve *serve, int number)
{
    pthread_sigmask(SIG_SETMASK, &serve->signal_mask, NULL);
    raise(number);
}

static void hear_signals(cli_serve *serve)
{
    struct pollfd fds[] = {{serve->ended_fd, POLLIN, 0}, {serve->signal_fd, POLLIN, 0}};
    struct signalfd_siginfo info;
    int heard = 0;

    while (fds[0].revents == 0) {
        if (poll(fds, 2, -1) < 0 || !fds[1].revents ||
            read(serve->signal_fd, &info, sizeof info) != (ssize_t)sizeof info ||
            info.ssi_signo == SIGHUP)
            continue;
        if (heard++ > 0)
            let_signals_kill(serve, (int)info.ssi_signo);
        else
            hurry(serve);
    }
}

pawl_status cli_serve_end(cli_serve *serve, pawl_error *err)
{
    ending end = {.serve = serve, .err = PAWL_ERROR_INIT};
    eventfd_t ignored;
    pthread_t thread;
    int problem;

    (void)eventfd_read(serve->ended_fd, &ignored); /* a duty may have ended by itself */
    stop_duties(serve);
    problem = pthread_create(&thread, NULL, stop_and_wait, &end);
    if (problem != 0) {
        cli_serve_say(serve->config, PAWL_LOG_WARNING, "no thread is left: nothing can hurry this");
        stop_and_wait(&end);
    } else {
        hear_signals(serve);
        pthread_join(thread, NULL);
    }
    if (end.st != PAWL_OK)
        *err = end.err;
    return end.st;
}
