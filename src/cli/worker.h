/* src/cli/worker.h - the loop of `pawl work`: one thread, up to N commands at a time. */
#ifndef CLI_WORKER_H
#define CLI_WORKER_H

#include <pawl/queue.h>
#include <pawl/store.h>

#include "child.h"
#include "job.h"

typedef struct cli_worker_options {
    const char *const *topics; /* NULL: all */
    size_t topic_count;
    char *const *command; /* argv */
    int64_t lease_ms;
    int64_t poll_ms;
    int64_t grace_ms;
    int64_t run_timeout_ms; /* 0: none */
    size_t concurrency;
    int64_t max;      /* claim so many at most; 0: no end */
    bool until_empty; /* end when nothing is due and nothing runs */
    bool talk;        /* one line per message */
    bool json;        /* our stdout is for the document at the end */
} cli_worker_options;

typedef struct cli_worker {
    pawl_store *store;
    const cli_worker_options *options;
    pawl_owner owner;
    cli_command command;
    cli_job *jobs; /* options->concurrency places */
    int signal_fd;
    pawl_mono now; /* one per turn, and after every database call that may have taken long */

    /* claiming */
    int64_t claimed;
    pawl_mono claim_at;
    int64_t idle_ms;     /* how long to wait when nothing was due; grows up to poll_ms */
    bool claim_unknown;  /* an answer was lost: ask what we hold before claiming more */
    pawl_mono ask_until; /* a lost claim may still be committing until then */
    bool empty;          /* the last claim found nothing */

    /* stopping */
    int stop_signal; /* 0: none came */
    bool stopping;   /* claim nothing any more */
    bool hurry;      /* a second signal: end at once */
    bool grace_over;
    pawl_mono grace_end;
    pawl_status fatal; /* why the loop ends by itself; PAWL_OK: it does not */
    pawl_error fatal_error;

    /* the database's health */
    bool down;
    int down_tries;
    pawl_mono retry_at; /* while it is down: only renewals are tried before */

    pawl_mono reap_at;
    pawl_mono retain_at;
    pawl_mono fold_at;
    int64_t counts[CLI_VERDICT_COUNT];
} cli_worker;

/* Works until a signal, an end by the options, or a failure that will not go away. */
pawl_status cli_worker_run(cli_worker *worker, pawl_error *err);

/* ---- the parts of a turn, each in its own file ---- */

/* Every answer of the database passes here. Says once that it is down and once that it is back;
 * a failure that will not go away stops the worker. True on PAWL_OK. */
bool cli_worker_heard(cli_worker *worker, pawl_status status, const pawl_error *err);
/* Claim as many as there are free places, and start their commands. */
void cli_worker_claim(cli_worker *worker);
/* Renew what is half over; stop commands whose message is no longer ours. */
void cli_worker_renew(cli_worker *worker);
/* Hand the verdict on an ended command to the database; frees the place when that is settled. */
void cli_worker_answer(cli_worker *worker, cli_job *job);
/* Reap, expire, retain, fold, each at its own pace. */
void cli_worker_housekeep(cli_worker *worker);
/* The line about a message that is settled. */
void cli_worker_report(const cli_worker *worker, const cli_job *job);

#endif
