/* src/cli/commands/work_command.c - the handler of `pawl work`: a message's command and its result.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "child.h"
#include "console.h"
#include "environment.h"
#include "alloc.h"
#include "terminal_line.h"
#include "terminal_text.h"
#include "units.h"
#include "work_run.h"

/* ---- the handler ---- */

static bool stop_now_requested(const cli_work *work)
{
    struct pollfd fd = {work->stop_now_fd, POLLIN, 0};

    return poll(&fd, 1, 0) == 1;
}

/* A command that can never be started must not be retried; anything else is a problem of this
 * machine: release the message and exit, so that an operator can fix it. */
static pawl_result command_not_started(cli_work *work, pawl_task *task, int problem)
{
    if (problem == E2BIG) {
        PAWLI_AUTO_FREE char *error = cli_print("cannot start the command: %s", strerror(problem));
        pawl_task_set_error(task, error);
        return PAWL_RETRY;
    }
    cli_work_break(work, "cannot start '%s': %s", work->command.argv[0], strerror(problem));
    return PAWL_RELEASE;
}

static int start_command(const cli_work *work, const pawl_message *message, cli_child *ret_child)
{
    char **environment = cli_environment_new(message);
    cli_command command = work->command;
    size_t size;
    const void *payload = pawl_message_payload(message, &size);

    if (pawl_message_run_id(message) > 0)
        command.keep_output = PAWL_OUTPUT_MAX;
    int problem = cli_child_start(ret_child, &command, environment, payload, size);
    cli_environment_free(environment);
    return problem;
}

static void set_command_error(const cli_work *work, pawl_task *task, const cli_child *child,
                              cli_stop stopped)
{
    PAWLI_AUTO_FREE char *error =
        stopped == CLI_STOP_TIMEOUT
            ? cli_print("ran longer than %s",
                        cli_span_text(work->options->run_timeout_ms, CLI_ROOM))
            : cli_child_error(child);

    pawl_task_set_error(task, error);
}

/* What a job's run wrote, for its history. */
static void keep_run_output(pawl_task *task, const cli_child *child)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t size;
    const char *output = cli_child_output(child, &size);

    if (size > 0 && pawl_task_output(task, output, size, &err) != PAWL_OK)
        cli_note("the output is not stored: %s", err.message);
}

/* Success counts even after a signal, if the command finished its work first. */
static pawl_result command_result(const cli_work *work, pawl_task *task, const cli_child *child,
                                  cli_stop stopped)
{
    int status = cli_child_exit_status(child);

    if (status == 0) {
        keep_run_output(task, child);
        return PAWL_DONE;
    }
    if (stopped == CLI_STOP_NOW)
        return PAWL_RELEASE;
    if (stopped == CLI_STOP_CANCEL)
        return PAWL_RETRY; /* which the worker makes a release, or drops */
    set_command_error(work, task, child, stopped);
    return stopped == CLI_STOP_NONE && status == CLI_EXIT_FAIL ? PAWL_FAIL : PAWL_RETRY;
}

/* Thread: one of the worker's, which block all signals. */
pawl_result cli_work_command_handle(pawl_task *task, void *context)
{
    cli_work *work = context;
    cli_supervision how = CLI_SUPERVISION_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    cli_child child;

    cli_work_touch_progress(work);
    if (stop_now_requested(work))
        return PAWL_RELEASE;
    if (pawl_task_cancel_fd(task, &how.cancel_fd, &err) != PAWL_OK) {
        cli_work_break(work, "%s", err.message);
        return PAWL_RELEASE;
    }
    how.kill_fd = work->stop_now_fd;
    how.timeout_ms = work->options->run_timeout_ms;
    int problem = start_command(work, pawl_task_message(task), &child);
    pawl_result handled =
        problem != 0 ? command_not_started(work, task, problem)
                     : command_result(work, task, &child, cli_child_supervise(&child, &how));
    cli_child_done(&child);
    return handled;
}

/* ---- the observer's callbacks ---- */

static const char *result_text(const pawl_message_result *what, cli_color *ret_color)
{
    bool last = what->attempt >= pawl_message_max_attempts(what->message);

    switch (what->result) {
    case PAWL_DONE:
        *ret_color = CLI_GREEN;
        return "done";
    case PAWL_RETRY:
        *ret_color = last ? CLI_RED : CLI_YELLOW;
        return last ? "failed, no attempts left" : "will be retried";
    case PAWL_FAIL:
        *ret_color = CLI_RED;
        return "failed";
    case PAWL_RELEASE:
        *ret_color = CLI_YELLOW;
        return "released";
    default:
        *ret_color = CLI_MAGENTA;
        return "result discarded";
    }
}

static char *result_reason(const pawl_message_result *what)
{
    if (what->result == PAWL_LOST)
        return cli_copy("the message has another owner now, or the result could not be stored");
    return what->error ? cli_text_clean(what->error, strlen(what->error), true) : NULL;
}

/* "12 mail: done (attempt 1/10, 35 ms)". A dropped result is always worth a line. */
void cli_report_result(void *context, const pawl_message_result *what)
{
    const cli_work *work = context;
    const char *name = pawl_message_topic(what->message);
    PAWLI_AUTO_FREE char *topic = NULL;
    PAWLI_AUTO_FREE char *error = NULL;
    cli_color color;
    const char *text = result_text(what, &color);

    if (!work->options->talk && what->result != PAWL_LOST)
        return;
    topic = cli_text_clean(name, strlen(name), true);
    error = result_reason(what);
    cli_terminal_line_print("%" PRId64 " %s: %s%s%s (attempt %d/%d, %" PRId64 " ms)%s%s\n",
                            pawl_message_work_id(what->message).value, topic,
                            cli_style(stderr, color), text, cli_style(stderr, CLI_PLAIN),
                            what->attempt, pawl_message_max_attempts(what->message),
                            what->took_us / 1000, error ? ": " : "", error ? error : "");
}

void cli_report_store(void *context, const pawl_error *err)
{
    (void)context;
    if (err)
        cli_note("%s; retrying until it succeeds", err->message);
    else
        cli_note("the database responds again");
}
