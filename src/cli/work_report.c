/* src/cli/work_report.c - what `pawl work` says while it works. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "memory.h"
#include "mono.h"
#include "output.h"
#include "text.h"
#include "worker.h"

bool cli_worker_heard(cli_worker *worker, pawl_status status, const pawl_error *err)
{
    int64_t quarter_ms = worker->options->lease_ms / 4; /* several tries before a lease ends */
    pawl_backoff policy = {100, quarter_ms < 5000 ? quarter_ms : 5000, 100};

    if (status == PAWL_OK) {
        if (worker->down)
            cli_note("the database answers again");
        worker->down = false;
        worker->down_tries = 0;
        return true;
    }
    if (!pawl_status_retryable(status)) {
        if (worker->fatal == PAWL_OK) {
            worker->fatal = status;
            worker->fatal_error = *err;
        }
        worker->stopping = true;
        return false;
    }
    if (!worker->down)
        cli_note("%s; trying again until it works", err->message);
    worker->down = true;
    worker->retry_at = cli_mono_after(
        cli_mono_now(), pawl_backoff_delay_ms(&policy, worker->down_tries++, (uint64_t)random()));
    return false;
}

static const char *outcome(const cli_job *job, cli_color *ret_color)
{
    bool last = pawl_message_attempt(job->message) >= pawl_message_max_attempts(job->message);

    switch (job->verdict) {
    case CLI_VERDICT_ACK:
        *ret_color = CLI_GREEN;
        return "done";
    case CLI_VERDICT_ABANDON:
        *ret_color = last ? CLI_RED : CLI_YELLOW;
        return last ? "failed, no attempts left" : "will be tried again";
    case CLI_VERDICT_FAIL:
        *ret_color = CLI_RED;
        return "failed";
    case CLI_VERDICT_RELEASE:
        *ret_color = CLI_YELLOW;
        return "released";
    default:
        *ret_color = CLI_MAGENTA;
        return "result dropped";
    }
}

/* "12 mail: done (attempt 1/10, 35 ms)". A dropped result is always worth a line. */
void cli_worker_report(const cli_worker *worker, const cli_job *job)
{
    CLI_AUTO_FREE char *topic = NULL;
    CLI_AUTO_FREE char *error = NULL;
    cli_color color;
    const char *what = outcome(job, &color);

    if (!worker->options->talk && job->verdict != CLI_VERDICT_DROP)
        return;
    topic = cli_text_clean(pawl_message_topic(job->message),
                           strlen(pawl_message_topic(job->message)), true);
    if (job->error)
        error = cli_text_clean(job->error, strlen(job->error), true);
    fprintf(stderr, "%" PRId64 " %s: %s%s%s (attempt %d/%d, %" PRId64 " ms)%s%s\n",
            job->held.id.value, topic, cli_style(stderr, color), what, cli_style(stderr, CLI_PLAIN),
            pawl_message_attempt(job->message), pawl_message_max_attempts(job->message),
            cli_mono_ms_between(job->started, worker->now), error ? ": " : "", error ? error : "");
}
