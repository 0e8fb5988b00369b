/* bench/writer.c - one thread that writes for many: whatever waits goes into its next commit. */
#include "writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "basics.h"

struct writer {
    void (*commit)(void *program, writer_request *first);
    void *program;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    writer_request *first; /* waiting, in the order of arrival */
    writer_request **last;
    bool stopping;
};

static void writer_answer(writer_request *request)
{
    while (request) {
        /* Once it is told, the request may be gone. */
        writer_request *next = request->next;

        sem_post(&request->done);
        request = next;
    }
}

static void *write_for_all(void *context)
{
    writer *self = context;

    pthread_mutex_lock(&self->lock);
    for (;;) {
        writer_request *batch = self->first;

        if (!batch && self->stopping)
            break;
        if (!batch) {
            pthread_cond_wait(&self->arrived, &self->lock);
            continue;
        }
        self->first = NULL;
        self->last = &self->first;
        pthread_mutex_unlock(&self->lock);
        self->commit(self->program, batch);
        writer_answer(batch);
        pthread_mutex_lock(&self->lock);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

writer *writer_start(void (*commit)(void *program, writer_request *first), void *program)
{
    writer *self = allocate(1, sizeof *self);

    self->commit = commit;
    self->program = program;
    self->last = &self->first;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->arrived, NULL);
    if (pthread_create(&self->thread, NULL, write_for_all, self) != 0)
        die("no thread for the writer");
    return self;
}

void writer_stop(writer *self)
{
    if (!self)
        return;
    pthread_mutex_lock(&self->lock);
    self->stopping = true;
    pthread_cond_signal(&self->arrived);
    pthread_mutex_unlock(&self->lock);
    pthread_join(self->thread, NULL);
    pthread_mutex_destroy(&self->lock);
    pthread_cond_destroy(&self->arrived);
    free(self);
}

void writer_request_init(writer_request *request)
{
    sem_init(&request->done, 0, 0);
}

void writer_submit(writer *self, writer_request *request)
{
    request->next = NULL;
    pthread_mutex_lock(&self->lock);
    *self->last = request;
    self->last = &request->next;
    if (self->first == request)
        pthread_cond_signal(&self->arrived);
    pthread_mutex_unlock(&self->lock);
    while (sem_wait(&request->done) != 0 && errno == EINTR)
        ;
}
