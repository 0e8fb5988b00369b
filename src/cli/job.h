/* src/cli/job.h - one claimed message in the hands of `pawl work`. */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include <pawl/queue.h>

#include "child.h"

/* The messages of one claim, freed with the last job that uses them. */
typedef struct cli_batch {
    pawl_messages *list;
    size_t users;
} cli_batch;

typedef enum cli_phase {
    CLI_JOB_FREE,
    CLI_JOB_RUNNING,  /* the command runs */
    CLI_JOB_ENDING,   /* it was told to end; `verdict` says what will become of the message */
    CLI_JOB_ANSWERING /* it has ended; the database does not know yet */
} cli_phase;

typedef enum cli_verdict {
    CLI_VERDICT_ACK,
    CLI_VERDICT_ABANDON, /* not now: counts as an attempt */
    CLI_VERDICT_FAIL,    /* never */
    CLI_VERDICT_RELEASE, /* as if it had not been claimed */
    CLI_VERDICT_DROP,    /* somebody else's by now */
    CLI_VERDICT_COUNT
} cli_verdict;

typedef struct cli_job {
    cli_phase phase;
    cli_batch *batch;
    const pawl_message *message; /* borrowed from the batch */
    pawl_held held;
    cli_child child;
    pawl_mono started;
    int64_t lease_ms;    /* what a claim or renewal of this message gets */
    pawl_mono lease_end; /* by local time, never later than the database's */
    pawl_mono renew_at;
    pawl_mono kill_at; /* ENDING: when asking has taken long enough */
    cli_verdict verdict;
    char *error;         /* for the verdict; NULL: none */
    pawl_mono answer_at; /* ANSWERING: when to try (again) */
    bool in_doubt;       /* an earlier try may have been committed */
} cli_job;

/* Exit status of a command that says: never try this message again. */
#define CLI_EXIT_FAIL 65

/* Tell the command to end: TERM to its process group now, KILL later. `take_error` may be NULL. */
void cli_job_stop(cli_job *job, pawl_mono now, cli_verdict verdict, char *take_error);
/* The command has ended: read the verdict off its exit status, unless one was passed already. */
void cli_job_judge(cli_job *job, pawl_mono now);
/* Back to FREE. */
void cli_job_clear(cli_job *job);

#endif
