/*
 * bench/writer.h - one thread that writes for many: whatever waits while it commits goes into its
 * next commit.
 */
#ifndef BENCH_WRITER_H
#define BENCH_WRITER_H

#include <semaphore.h>

/* Embedded in the caller's own; used again and again. */
typedef struct writer_request {
    sem_t done;
    struct writer_request *next;
} writer_request;

typedef struct writer writer;

/* `commit` carries out a list of requests in one transaction, on the writer's thread. */
writer *writer_start(void (*commit)(void *program, writer_request *first), void *program);
void writer_stop(writer *self); /* NULL is fine; nobody may be waiting */

void writer_request_init(writer_request *request);
/* Returns when the request is committed. */
void writer_submit(writer *self, writer_request *request);

#endif
