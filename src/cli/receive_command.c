/* src/cli/receive_command.c - a message that has come is given to a command. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "child.h"
#include "environment.h"
#include "memory.h"
#include "mono.h"
#include "serve.h"

/* Exit status of a command that says: never again. The same as for `pawl work`. */
#define EXIT_FAIL 65
#define KILL_AFTER_MS 5000

typedef struct commander {
    char *text;
    cli_command command;
    char *argv[4];
} commander;

static void commander_free(void *context)
{
    commander *by = context;

    free(by->text);
    free(by);
}

/* ---- what the command learns ---- */

static char **make_environment(const pawl_reception *reception)
{
    const pawl_envelope *envelope = pawl_reception_envelope(reception);
    char attempt[32];
    char fence[32];
    const cli_variable variables[] = {
        {"PAWL_ID", pawl_envelope_id(envelope)},
        {"PAWL_SOURCE", pawl_envelope_source(envelope)},
        {"PAWL_TOPIC", pawl_envelope_endpoint(envelope)},
        {"PAWL_TYPE", pawl_type_name(pawl_envelope_type(envelope))},
        {"PAWL_KEY", pawl_reception_key(reception)},
        {"PAWL_ATTEMPT", attempt},
        {"PAWL_FENCE", fence},
        {"PAWL_CORRELATION_ID", pawl_envelope_correlation_id(envelope)},
        {"PAWL_HEADERS", pawl_envelope_headers(envelope)},
        {"PAWL_WORK_ID", NULL},
        {"PAWL_MAX_ATTEMPTS", NULL},
        {"PAWL_PRIORITY", NULL},
    };

    snprintf(attempt, sizeof attempt, "%d", pawl_reception_attempt(reception));
    snprintf(fence, sizeof fence, "%" PRId64, pawl_reception_fence(reception));
    return cli_environment_with(variables, sizeof variables / sizeof variables[0]);
}

static int start(const commander *by, const pawl_reception *reception, cli_child *child)
{
    char **environment = make_environment(reception);
    size_t size;
    const void *payload = pawl_envelope_payload(pawl_reception_envelope(reception), &size);
    int problem = cli_child_start(child, &by->command, environment, payload, size);

    cli_environment_free(environment);
    return problem;
}

/* ---- while it runs ---- */

/* TERM to its process group when it is cancelled, KILL later. True: it was told to end. */
static bool run(const pawl_reception *reception, cli_child *child)
{
    pawl_mono kill_at = {INT64_MAX};
    bool told = false;

    while (!cli_child_ended(child, told)) {
        struct pollfd fds[1 + CLI_CHILD_FDS] = {
            {told ? -1 : pawl_reception_cancel_fd(reception), POLLIN, 0}};
        size_t count = 1 + cli_child_poll_fds(child, fds + 1);
        int64_t left_ms = cli_mono_ms_between(cli_mono_now(), kill_at);
        (void)poll(fds, (nfds_t)count, !told ? -1 : left_ms > 0 ? (int)left_ms : 0);
        if (fds[0].revents) {
            told = true;
            kill_at = cli_mono_after(cli_mono_now(), KILL_AFTER_MS);
            cli_child_signal(child, SIGTERM);
        }
        if (told && cli_mono_reached(cli_mono_now(), kill_at)) {
            cli_child_signal(child, SIGKILL);
            kill_at = cli_mono_after(cli_mono_now(), 1000);
        }
        cli_child_pump(child);
    }
    return told;
}

/* ---- the verdict ---- */

/* Without the line end that `echo` adds, as in a shell: so that JSON travels as JSON. */
static pawl_verdict respond(pawl_reception *reception, const cli_child *child)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t size = child->answer_size;

    if (size > 0 && child->answer[size - 1] == '\n')
        size--;
    if (child->answer_lost) {
        pawl_reception_explain(reception, "the command's output is too large for a response");
        return PAWL_RETRY;
    }
    if (size == 0 || pawl_reception_respond(reception, child->answer, size, &err) == PAWL_OK)
        return PAWL_DONE;
    pawl_reception_explain(reception, err.message);
    return PAWL_RETRY;
}

static pawl_verdict judge(pawl_reception *reception, const cli_child *child, bool told)
{
    CLI_AUTO_FREE char *complaint = NULL;
    int status = child->wait_status;

    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return respond(reception, child);
    complaint = told ? cli_copy("the command did not end in time") : cli_child_complaint(child);
    pawl_reception_explain(reception, complaint);
    return !told && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAIL ? PAWL_FAIL : PAWL_RETRY;
}

/* Thread: one of the receiver's, which block all signals. */
static pawl_verdict handle(pawl_reception *reception, void *context)
{
    const commander *by = context;
    cli_child child;
    int problem = start(by, reception, &child);
    pawl_verdict verdict;

    if (problem != 0) {
        CLI_AUTO_FREE char *why = cli_print("cannot start the command: %s", strerror(problem));
        pawl_reception_explain(reception, why);
        return PAWL_RETRY;
    }
    bool told = run(reception, &child);
    verdict = judge(reception, &child, told);
    cli_child_done(&child);
    return verdict;
}

pawl_status cli_receive_by_command(pawl_receiver *receiver, const char *topic, const char *command,
                                   size_t max_response, const sigset_t *signal_mask,
                                   const pawl_receive_options *opts, pawl_error *err)
{
    static char shell[] = "/bin/sh";
    static char text_follows[] = "-c";
    pawl_receive_options options = *opts;
    commander *by = cli_alloc(1, sizeof *by);
    pawl_status st;

    by->text = cli_copy(command);
    by->argv[0] = shell;
    by->argv[1] = text_follows;
    by->argv[2] = by->text;
    by->command.argv = by->argv;
    by->command.keep_answer = max_response;
    by->command.signal_mask = *signal_mask;
    options.free = commander_free;
    st = pawl_receiver_handle(receiver, topic, PAWL_RECEIVE_CALL_OUT, handle, by, &options, err);
    if (st != PAWL_OK)
        commander_free(by);
    return st;
}
