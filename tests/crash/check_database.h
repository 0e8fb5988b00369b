/* tests/crash/check_database.h - is what was found after a power cut what it must be? */
#ifndef PAWL_CRASH_CHECK_H
#define PAWL_CRASH_CHECK_H

#include <sqlite3.h>

#include "crash_run.h"

/* The results returned before the power loss. */
typedef struct check_expect {
    size_t at;                          /* the steps before it were done */
    answer answers[SCENARIO_CALLS_MAX]; /* of the calls of that step */
    int64_t highest_fence;
    size_t may_be_lost_from; /* an earlier state does, too, but a whole one: not before this step */
    bool doubt_is_failure;   /* deliberately wrong: what is in doubt must not be there */
} check_expect;

void check_expect_run(check_expect *e, const crash_run *l);

/*
 * Open the database at `path` as after a restart, compare it with what must be there, and see
 * whether it works. False: `ret_text` says what is wrong.
 */
bool check_database(const char *path, const check_expect *e, char *ret_text, size_t size);

/* observe.c: everything in the file, by plain SQL. NULL handle of a missing file: an empty model.
 */
bool observe(sqlite3 *handle, model *ret_model, char *ret_text, size_t size);
/* Damage, and invariants between any two commits. */
bool observe_rules(sqlite3 *handle, bool schema, char *ret_text, size_t size);
/* The text of pawl's tables in that file, for comparing; the caller frees it. NULL: an error. */
char *observe_schema(sqlite3 *handle);

#endif
