/*
 * src/core/inbox_suspects.h - suspects: messages that may have crashed their receiver are processed
 * one at a time.
 *
 * An attempt is counted, and the count committed, before its handler runs. Of all attempts that run
 * when a process crashes, one is the cause; the others must not be counted. So an attempt that runs
 * concurrently with others is not counted if it does not end, and its message becomes a suspect:
 * its later attempts count, and at most one of them runs in a process at any time.
 * docs/internals/inbox.md explains the design.
 */
#ifndef PAWLI_INBOX_SUSPECTS_H
#define PAWLI_INBOX_SUSPECTS_H

#include <stdbool.h>

#include <pawl/clock.h>

/* Each kind is serialized separately: a call may take minutes, a transaction does not. */
typedef enum pawli_suspect_kind {
    PAWLI_SUSPECT_TRANSACTION,
    PAWLI_SUSPECT_CALL,
    PAWLI_SUSPECT_KINDS
} pawli_suspect_kind;

/*
 * Enters the single place for suspects of this process; false: another suspect still has it at the
 * deadline. Any thread.
 */
bool pawli_suspect_enter(pawli_suspect_kind kind, pawl_mono deadline);
/* Any thread, not only the one that entered. */
void pawli_suspect_leave(pawli_suspect_kind kind);

#endif
