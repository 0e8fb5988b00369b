/* tests/crash/crash_run.h - going through the scenario with a real store, and what it answered. */
#ifndef PAWL_CRASH_RUN_H
#define PAWL_CRASH_RUN_H

#include <sqlite3.h>

#include "crash_steps.h"

typedef enum answer {
    ANSWER_NONE,     /* not called */
    ANSWER_DONE,     /* acknowledged */
    ANSWER_NOT_DONE, /* failed for certain */
    ANSWER_IN_DOUBT
} answer;

typedef struct crash_run {
    const char *path;
    pawl_durability durability;
    pawl_store *store;
    sqlite3 *application; /* its own connection to the same file */
    pawl_work_id ids[MODEL_MESSAGES];
    int64_t fences[MODEL_MESSAGES];
    int64_t earlier_fences[MODEL_MESSAGES];
    int64_t highest_fence;              /* in any result */
    size_t at;                          /* the step that was not done, or scenario_count */
    answer answers[SCENARIO_CALLS_MAX]; /* of that step */
    pawl_status status;                 /* of its last call that was not done */
    char wrong[512];                    /* a result that is wrong whatever is on the disk; or "" */
} crash_run;

/* `path` must outlive it. */
void crash_run_init(crash_run *l, const char *path, pawl_durability durability);
/* Step `l->at`. True: everything in it was done, and `at` moves on. */
bool crash_run_step(crash_run *l);
/* Steps until one is not done, or the end. */
void crash_run_run(crash_run *l);
/* The meaning of a call's status. */
answer crash_run_answer_of(pawl_status st);
/* Close everything. */
void crash_run_close(crash_run *l);

/* Remember the first thing that is wrong. */
void crash_run_wrong(crash_run *l, const char *format, ...) PAWL_PRINTF(2, 3);
/*
 * The message as the store's public calls show it. `absent` is also a result; false: the call
 * failed. Also learns its work id and fence.
 */
bool crash_run_read(crash_run *l, int number, model_message *ret_message, pawl_error *err);

/* crash_calls.c: one call each. */
pawl_status crash_run_send_one(crash_run *l, int number, pawl_error *err);
pawl_status crash_run_send(crash_run *l, const step *s, pawl_error *err);
pawl_status crash_run_send_tx(crash_run *l, const step *s, pawl_error *err);
pawl_status crash_run_claim(crash_run *l, const step *s, pawl_error *err);
pawl_status crash_run_change(crash_run *l, const step *s, pawl_error *err);
pawl_status crash_run_lease(crash_run *l, const step *s, pawl_error *err);

/* The application's connection, opened if it is not. False: not possible. */
bool crash_run_application(crash_run *l);

#endif
