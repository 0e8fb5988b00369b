/* tests/crash/inbox_life.h - receiving messages while power is lost, and receiving them again. */
#ifndef PAWL_CRASH_INBOX_LIFE_H
#define PAWL_CRASH_INBOX_LIFE_H

#include "life.h"

#define INBOX_MESSAGES 6
#define INBOX_CALLS 4 /* from this one on: call-out, the others atomic */

/* What each was told before the power went. */
typedef struct inbox_life {
    answer begun[INBOX_MESSAGES]; /* pawl_inbox_begin() or pawl_inbox_call() */
    answer done[INBOX_MESSAGES];
    int64_t highest_fence;
    char wrong[256]; /* an answer that is wrong whatever is on the disk; or "" */
} inbox_life;

/* Make an empty store with the application's table `orders` at `path`. */
bool inbox_life_prepare(const char *path);
/*
 * Every message once, the first three once more; one fails at first. Ends at the first call that
 * was not done.
 */
void inbox_life_run(inbox_life *l, const char *path);
/*
 * What is at `path` after a restart: rows, message and record of each are there together or not at
 * all, as was answered; and delivered again, each is processed if it was not, once. False:
 * `ret_text` says what is wrong.
 */
bool inbox_life_check(const inbox_life *l, const char *path, char *ret_text, size_t size);

#endif
