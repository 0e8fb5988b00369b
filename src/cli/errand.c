/* src/cli/errand.c - one message in the hands of `pawl work`: its command, from start to verdict.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "environment.h"
#include "fail.h"
#include "memory.h"
#include "mono.h"
#include "when.h"
#include "work.h"

/* Exit status of a command that says: never try this message again. */
#define EXIT_FAIL 65
#define KILL_AFTER_MS 5000

/* Why the command was told to end. */
typedef enum reason {
    NOT_TOLD,
    TOO_SLOW,  /* --run-timeout */
    CANCELLED, /* by the worker, which knows what will become of the message */
    IN_A_HURRY /* the second signal */
} reason;

typedef struct cli_errand {
    cli_work *work;
    pawl_task *task;
    cli_child child;
    int cancel_fd;
    pawl_mono slow_at; /* when it has run for too long */
    reason told;       /* the first reason */
    pawl_mono kill_at; /* when asking has taken long enough */
    bool hurried;
} cli_errand;

/* ---- start ---- */

static bool in_a_hurry(const cli_work *work)
{
    struct pollfd fd = {work->hurry_fd, POLLIN, 0};

    return poll(&fd, 1, 0) == 1;
}

/* A message that can never be started must not circle; anything else is this machine's trouble:
 * give the message back and end, so that somebody looks. */
static pawl_verdict start_failed(cli_errand *errand, int problem)
{
    if (problem == E2BIG) {
        CLI_AUTO_FREE char *error = cli_print("cannot start the command: %s", strerror(problem));
        pawl_task_explain(errand->task, error);
        return PAWL_RETRY;
    }
    cli_work_break(errand->work, "cannot start '%s': %s", errand->work->command.argv[0],
                   strerror(problem));
    return PAWL_RELEASE;
}

static int start(cli_errand *errand)
{
    const pawl_message *message = pawl_task_message(errand->task);
    char **environment = cli_environment_new(message);
    int64_t limit_ms = errand->work->options->run_timeout_ms;
    size_t size;
    const void *payload = pawl_message_payload(message, &size);
    cli_command command = errand->work->command;
    int problem;

    if (pawl_message_run_id(message) > 0)
        command.keep_output = PAWL_OUTPUT_MAX;
    problem = cli_child_start(&errand->child, &command, environment, payload, size);
    errand->slow_at =
        limit_ms > 0 ? cli_mono_after(cli_mono_now(), limit_ms) : (pawl_mono){INT64_MAX};
    errand->kill_at = (pawl_mono){INT64_MAX};
    cli_environment_free(environment);
    return problem;
}

/* ---- while it runs ---- */

/* TERM to its process group now, KILL later. */
static void tell_to_end(cli_errand *errand, reason why)
{
    if (errand->told != NOT_TOLD)
        return;
    errand->told = why;
    errand->kill_at = cli_mono_after(cli_mono_now(), KILL_AFTER_MS);
    cli_child_signal(&errand->child, SIGTERM);
}

static int wait_ms(const cli_errand *errand)
{
    int64_t moment = errand->told == NOT_TOLD ? errand->slow_at.us : errand->kill_at.us;
    int64_t left_us = moment - cli_mono_now().us;

    if (moment == INT64_MAX)
        return -1;
    if (left_us <= 0)
        return 0;
    return left_us < CLI_HOUR_MS * 1000 ? (int)((left_us + 999) / 1000) : (int)CLI_HOUR_MS;
}

/* What has been seen is not waited for again: these descriptors stay readable. */
static void wait_for_something(cli_errand *errand)
{
    enum { CANCEL, HURRY, OWN };
    struct pollfd fds[OWN + CLI_CHILD_FDS] = {
        [CANCEL] = {errand->told == NOT_TOLD ? errand->cancel_fd : -1, POLLIN, 0},
        [HURRY] = {errand->hurried ? -1 : errand->work->hurry_fd, POLLIN, 0},
    };
    size_t count = OWN + cli_child_poll_fds(&errand->child, fds + OWN);

    if (poll(fds, count, wait_ms(errand)) < 0)
        return;
    if (fds[HURRY].revents) {
        errand->hurried = true;
        tell_to_end(errand, IN_A_HURRY);
        errand->kill_at = cli_mono_now();
    }
    if (fds[CANCEL].revents)
        tell_to_end(errand, CANCELLED);
}

static void check_clocks(cli_errand *errand)
{
    pawl_mono now = cli_mono_now();

    if (cli_mono_reached(now, errand->slow_at))
        tell_to_end(errand, TOO_SLOW);
    if (cli_mono_reached(now, errand->kill_at)) {
        cli_child_signal(&errand->child, SIGKILL);
        errand->kill_at = cli_mono_after(now, CLI_SECOND_MS);
    }
}

/* ---- the verdict ---- */

static void explain(cli_errand *errand)
{
    CLI_AUTO_FREE char *error = NULL;
    char limit[CLI_WHEN_SIZE];

    if (errand->told == TOO_SLOW)
        error = cli_print("ran longer than %s",
                          cli_span_text(errand->work->options->run_timeout_ms, limit));
    else
        error = cli_child_complaint(&errand->child);
    pawl_task_explain(errand->task, error);
}

/* Success counts also when it was told to end and finished its work first. */
static pawl_verdict judge(cli_errand *errand)
{
    int wait_status = errand->child.wait_status;

    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0)
        return PAWL_DONE;
    if (errand->told == IN_A_HURRY)
        return PAWL_RELEASE;
    if (errand->told == CANCELLED)
        return PAWL_RETRY; /* which the worker makes a release, or drops */
    explain(errand);
    if (errand->told == NOT_TOLD && WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == EXIT_FAIL)
        return PAWL_FAIL;
    return PAWL_RETRY;
}

/* What a job's run wrote, for its history. */
static void keep_output(cli_errand *errand)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t size;
    const char *output = cli_tail_text(&errand->child.output, &size);

    if (size > 0 && pawl_task_output(errand->task, output, size, &err) != PAWL_OK)
        cli_note("the output is not kept: %s", err.message);
}

/* Thread: one of the worker's, which block all signals. */
pawl_verdict cli_errand_handle(pawl_task *task, void *context)
{
    cli_errand errand = {.work = context, .task = task};
    pawl_error err = PAWL_ERROR_INIT;
    int problem;

    cli_watch_touch(errand.work);
    if (in_a_hurry(errand.work))
        return PAWL_RELEASE;
    if (pawl_task_cancel_fd(task, &errand.cancel_fd, &err) != PAWL_OK) {
        cli_work_break(errand.work, "%s", err.message);
        return PAWL_RELEASE;
    }
    problem = start(&errand);
    if (problem != 0) {
        cli_child_done(&errand.child);
        return start_failed(&errand, problem);
    }
    while (!cli_child_ended(&errand.child, errand.told != NOT_TOLD)) {
        wait_for_something(&errand);
        check_clocks(&errand);
        cli_child_pump(&errand.child);
    }
    pawl_verdict verdict = judge(&errand);
    if (verdict == PAWL_DONE)
        keep_output(&errand);
    cli_child_done(&errand.child);
    return verdict;
}
