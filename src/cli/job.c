/* src/cli/job.c - one claimed message in the hands of `pawl work`. */
#include <ctype.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "job.h"
#include "memory.h"
#include "mono.h"
#include "text.h"

#define KILL_AFTER_MS 5000

void cli_job_stop(cli_job *job, pawl_mono now, cli_verdict verdict, char *take_error)
{
    free(job->error);
    job->error = take_error;
    job->verdict = verdict;
    if (job->phase == CLI_JOB_ENDING)
        return;
    job->phase = CLI_JOB_ENDING;
    job->kill_at = cli_mono_after(now, KILL_AFTER_MS);
    cli_child_signal(&job->child, SIGTERM);
}

/* The end of its stderr as text, or NULL if there is none. The first bytes may be the rest of a
 * character that was cut. */
static char *last_words(const cli_child *child)
{
    const char *start = child->tail;
    size_t size = child->tail_size;

    while (size > 0 && child->tail_size == CLI_CHILD_TAIL &&
           ((unsigned char)*start & 0xc0) == 0x80) {
        start++;
        size--;
    }
    while (size > 0 && isspace((unsigned char)start[size - 1]))
        size--;
    while (size > 0 && isspace((unsigned char)*start)) {
        start++;
        size--;
    }
    return size > 0 ? cli_text_clean(start, size, false) : NULL;
}

static char *describe_end(int wait_status)
{
    if (WIFSIGNALED(wait_status))
        return cli_print("killed by signal %d", WTERMSIG(wait_status));
    return cli_print("exit status %d", WEXITSTATUS(wait_status));
}

void cli_job_judge(cli_job *job, pawl_mono now)
{
    int wait_status = job->child.wait_status;
    bool succeeded = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
    bool decided = job->phase == CLI_JOB_ENDING;

    job->phase = CLI_JOB_ANSWERING;
    job->answer_at = now;
    if (decided && job->verdict == CLI_VERDICT_DROP)
        return;
    if (succeeded) { /* also when it was told to end and finished its work first */
        job->verdict = CLI_VERDICT_ACK;
        return;
    }
    if (decided)
        return;
    job->verdict = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == CLI_EXIT_FAIL
                       ? CLI_VERDICT_FAIL
                       : CLI_VERDICT_ABANDON;
    job->error = last_words(&job->child);
    if (!job->error)
        job->error = describe_end(wait_status);
}

void cli_job_clear(cli_job *job)
{
    free(job->error);
    if (job->batch && --job->batch->users == 0) {
        pawl_messages_free(job->batch->list);
        free(job->batch);
    }
    *job = (cli_job){.phase = CLI_JOB_FREE};
}
