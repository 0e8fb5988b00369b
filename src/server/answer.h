/* src/server/answer.h - what a request is answered with. */
#ifndef PAWLI_ANSWER_H
#define PAWLI_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/export.h>

/* Zero-initialise it. */
typedef struct pawli_answer {
    int status;          /* HTTP's; 0: not answered yet */
    int64_t retry_after; /* seconds; 0: nothing is said about it */
    bool close;          /* the connection */
    bool duplicate;      /* acknowledged before */
    char *body;          /* JSON, malloc'ed; NULL: memory ran out, the status has to do */
    size_t body_size;
} pawli_answer;

void pawli_answer_done(pawli_answer *answer);

/* An acknowledgement of 001 §4.2: processed now, or before. `payload` may be NULL. */
void pawli_answer_acknowledge(pawli_answer *answer, bool duplicate, const void *payload,
                              size_t size);
/* Not acknowledged, with the sentence that says why. */
void pawli_answer_refuse(pawli_answer *answer, int status, const char *format, ...)
    PAWL_PRINTF(3, 4);

#endif
