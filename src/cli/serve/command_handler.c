/* src/cli/serve/command_handler.c - the handler of a received message that runs a command. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "child.h"
#include "environment.h"
#include "alloc.h"
#include "serve.h"

typedef struct command_handler {
    char *text;
    cli_command command;
    char *argv[4];
} command_handler;

static void command_handler_free(void *context)
{
    command_handler *by = context;

    free(by->text);
    free(by);
}

/* ---- what the command learns ---- */

static char **received_environment(const pawl_receive_task *task)
{
    const pawl_envelope *envelope = pawl_receive_task_envelope(task);
    char attempt[32];
    char fence[32];
    const cli_variable variables[] = {
        {"PAWL_ID", pawl_envelope_id(envelope)},
        {"PAWL_SOURCE", pawl_envelope_source(envelope)},
        {"PAWL_TOPIC", pawl_envelope_endpoint(envelope)},
        {"PAWL_TYPE", pawl_type_name(pawl_envelope_type(envelope))},
        {"PAWL_KEY", pawl_receive_task_key(task)},
        {"PAWL_ATTEMPT", attempt},
        {"PAWL_FENCE", fence},
        {"PAWL_CORRELATION_ID", pawl_envelope_correlation_id(envelope)},
        {"PAWL_HEADERS", pawl_envelope_headers(envelope)},
        {"PAWL_WORK_ID", NULL},
        {"PAWL_MAX_ATTEMPTS", NULL},
        {"PAWL_PRIORITY", NULL},
    };

    snprintf(attempt, sizeof attempt, "%d", pawl_receive_task_attempt(task));
    snprintf(fence, sizeof fence, "%" PRId64, pawl_receive_task_fence(task));
    return cli_environment_with(variables, PAWLI_COUNT(variables));
}

static int start_received(const command_handler *by, const pawl_receive_task *task,
                          cli_child *child)
{
    char **environment = received_environment(task);
    size_t size;
    const void *payload = pawl_envelope_payload(pawl_receive_task_envelope(task), &size);
    int problem = cli_child_start(child, &by->command, environment, payload, size);

    cli_environment_free(environment);
    return problem;
}

/* ---- the result ---- */

/* Without the line end that `echo` adds, as in a shell: so that JSON travels as JSON. */
static pawl_result respond_with_output(pawl_receive_task *task, const cli_child *child)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t size = child->response_size;

    if (size > 0 && child->response[size - 1] == '\n')
        size--;
    if (child->response_too_long) {
        pawl_receive_task_set_error(task, "the command's output is too large for a response");
        return PAWL_RETRY;
    }
    if (size == 0 || pawl_receive_task_respond(task, child->response, size, &err) == PAWL_OK)
        return PAWL_DONE;
    pawl_receive_task_set_error(task, err.message);
    return PAWL_RETRY;
}

static pawl_result received_result(pawl_receive_task *task, const cli_child *child,
                                   cli_stop stopped)
{
    int status = cli_child_exit_status(child);

    if (status == 0)
        return respond_with_output(task, child);
    PAWLI_AUTO_FREE char *error = stopped == CLI_STOP_NONE
                                      ? cli_child_error(child)
                                      : cli_copy("the command did not end in time");
    pawl_receive_task_set_error(task, error);
    return stopped == CLI_STOP_NONE && status == CLI_EXIT_FAIL ? PAWL_FAIL : PAWL_RETRY;
}

/* Thread: one of the receiver's, which block all signals. */
static pawl_result handle_by_command(pawl_receive_task *task, void *context)
{
    const command_handler *by = context;
    cli_supervision how = CLI_SUPERVISION_INIT;
    cli_child child;
    int problem = start_received(by, task, &child);
    pawl_result result;

    if (problem != 0) {
        PAWLI_AUTO_FREE char *why = cli_print("cannot start the command: %s", strerror(problem));
        pawl_receive_task_set_error(task, why);
        return PAWL_RETRY;
    }
    how.cancel_fd = pawl_receive_task_cancel_fd(task);
    result = received_result(task, &child, cli_child_supervise(&child, &how));
    cli_child_done(&child);
    return result;
}

pawl_status cli_serve_command_handler(pawl_receiver *receiver, const char *topic,
                                      const char *command, size_t max_response,
                                      const sigset_t *sigmask, const pawl_receive_options *opts,
                                      pawl_error *err)
{
    static char shell[] = "/bin/sh";
    static char text_follows[] = "-c";
    pawl_receive_options options = *opts;
    command_handler *by = cli_alloc(1, sizeof *by);
    pawl_status st;

    by->text = cli_copy(command);
    by->argv[0] = shell;
    by->argv[1] = text_follows;
    by->argv[2] = by->text;
    by->command.argv = by->argv;
    by->command.keep_response = max_response;
    by->command.sigmask = sigmask;
    options.free = command_handler_free;
    st = pawl_receiver_handle(receiver, topic, PAWL_RECEIVE_CALL_OUT, handle_by_command, by,
                              &options, err);
    if (st != PAWL_OK)
        command_handler_free(by);
    return st;
}
