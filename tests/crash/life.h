/* tests/crash/life.h - going through the scenario with a real store, and what it answered. */
#ifndef PAWL_CRASH_LIFE_H
#define PAWL_CRASH_LIFE_H

#include <sqlite3.h>

#include "scenario.h"

typedef enum answer {
    ANSWER_NONE,     /* not called */
    ANSWER_DONE,     /* acknowledged */
    ANSWER_NOT_DONE, /* failed for certain */
    ANSWER_IN_DOUBT
} answer;

typedef struct life {
    const char *path;
    pawl_durability durability;
    pawl_store *store;
    sqlite3 *application; /* its own connection to the same file */
    pawl_work_id ids[MODEL_MESSAGES];
    int64_t fences[MODEL_MESSAGES];
    int64_t earlier_fences[MODEL_MESSAGES];
    int64_t highest_fence;              /* in any answer */
    size_t at;                          /* the step that was not done, or scenario_count */
    answer answers[SCENARIO_CALLS_MAX]; /* of that step */
    pawl_status status;                 /* of its last call that was not done */
    char wrong[512];                    /* an answer that is wrong whatever is on the disk; or "" */
} life;

/* `path` must outlive it. */
void life_init(life *l, const char *path, pawl_durability durability);
/* Step `l->at`. True: everything in it was done, and `at` moves on. */
bool life_step(life *l);
/* Steps until one is not done, or the end. */
void life_run(life *l);
/* What the status of a call says about it. */
answer life_answer_of(pawl_status st);
/* Close everything. */
void life_close(life *l);

/* Remember the first thing that is wrong. */
void life_wrong(life *l, const char *format, ...) PAWL_PRINTF(2, 3);
/*
 * The message as the store's public calls show it. `absent` is an answer, too; false: the call
 * failed. Also learns its work id and fence.
 */
bool life_read(life *l, int number, model_message *ret_message, pawl_error *err);

/* life_calls.c: one call each. */
pawl_status life_send_one(life *l, int number, pawl_error *err);
pawl_status life_send(life *l, const step *s, pawl_error *err);
pawl_status life_send_tx(life *l, const step *s, pawl_error *err);
pawl_status life_claim(life *l, const step *s, pawl_error *err);
pawl_status life_change(life *l, const step *s, pawl_error *err);
pawl_status life_lease(life *l, const step *s, pawl_error *err);

/* The application's connection, opened if it is not. False: not possible. */
bool life_application(life *l);

#endif
