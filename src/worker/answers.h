/* src/worker/answers.h - what handlers answered, on its way to the store. */
#ifndef PAWLI_ANSWERS_H
#define PAWLI_ANSWERS_H

#include "task.h"

/* Zero-initialise it. The intake's. */
typedef struct pawli_answers {
    pawl_task *list;  /* not told yet */
    pawl_held *items; /* scratch */
    size_t room;
} pawli_answers;

void pawli_answers_done(pawli_answers *answers);
/* Take over what is finished by now; results that nobody wants any more are dropped. */
void pawli_answers_gather(pawl_worker *worker);
bool pawli_answers_empty(const pawli_answers *answers);
/*
 * Tell the store all that is not an acknowledgement: same answers together. What the store refuses
 * because of its content is dropped and logged: no result keeps others from being told.
 */
pawl_status pawli_answers_tell_others(pawl_worker *worker, pawl_error *err);
/* What is to be acknowledged, borrowed until the next call; these may go with a claim. */
pawl_status pawli_answers_acks(pawl_worker *worker, const pawl_held **ret_items, size_t *ret_count,
                               pawl_error *err);
/* They were: `acked` of them were still ours. Or it failed with `st`. */
void pawli_answers_acked(pawl_worker *worker, pawl_status st, size_t count, size_t acked);
/* The acknowledgements alone: a claim that they went with was refused, perhaps because of one of
 * them. */
pawl_status pawli_answers_tell_acks(pawl_worker *worker, pawl_error *err);
/* All of it, without claiming. */
pawl_status pawli_answers_tell(pawl_worker *worker, pawl_error *err);
/* What is left waits for another time; its leases are kept. */
void pawli_answers_put_off(pawl_worker *worker);

#endif
