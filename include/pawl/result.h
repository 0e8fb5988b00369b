/* include/pawl/result.h - the result of handling a message, for workers, receivers, deliveries and
 * observers.
 */
#ifndef PAWL_RESULT_H
#define PAWL_RESULT_H

#include <pawl/export.h>

PAWL_BEGIN_DECLS

typedef enum pawl_result {
    /* What a handler may return: */
    PAWL_DONE = 0,  /* processed; the message is finished */
    PAWL_RETRY = 1, /* the attempt failed: retried after a delay while attempts remain */
    PAWL_FAIL = 2,  /* failed permanently: becomes a dead letter */
    /* Give the message back: it is ready again at once and the attempt is not counted. For a
     * process that is shutting down; the same worker may claim it again. */
    PAWL_RELEASE = 3,
    /* What pawl adds, and a handler may not return: */
    PAWL_DEFER = 4, /* a delivery: retried after a delay, the attempt not counted */
    /* The result was discarded: the message was cancelled, is owned by another worker, or the
     * result could not be stored before the worker ended. */
    PAWL_LOST = 5
} pawl_result;

PAWL_END_DECLS

#endif
