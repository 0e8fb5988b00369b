/*
 * src/server/crew.h - the threads that process messages, so that those that read requests never
 * wait; and the line in front of them.
 */
#ifndef PAWLI_SERVER_CREW_H
#define PAWLI_SERVER_CREW_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "answer.h"
#include "route.h"

/* A message that has come, on its way to an answer. Part of whatever brought it. */
struct pawli_job {
    pawli_job *next;
    char *body; /* what came; freed by whoever brought it */
    size_t body_size;
    pawl_envelope *envelope; /* once it has been read; freed when the job is done */
    pawli_route *route;      /* once it is known */
    bool is_next;            /* it is the suspect whose time has come */
    pawli_answer answer;
    void (*done)(pawli_job *job); /* it is answered; on a thread of the crew, with no lock held */
};

/* What the crew does with a job; each runs on one of its threads, with no lock held. */
typedef struct pawli_server_crew_work {
    /* Reads it and finds its route; false: it is answered. */
    bool (*read)(void *context, pawli_job *job);
    /* Processes and answers it; false: it is a suspect (pawl/inbox.h), and has to wait. */
    bool (*process)(void *context, pawli_job *job);
    /* Answers one that nobody will process, since the crew is closed. */
    void (*turn_away)(void *context, pawli_job *job);
    void *context;
} pawli_server_crew_work;

/* Suspects of one mode: one is processed, the others wait without a thread. */
typedef struct pawli_suspects {
    bool is_busy;
    pawli_job *first;
    pawli_job *last;
} pawli_suspects;

typedef struct pawli_server_crew {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* there is work, or `closed`, or nobody works any more */
    pawli_server_crew_work work;
    pawli_job *first;
    pawli_job *last;
    pawli_suspects suspects[PAWLI_MODE_COUNT];
    size_t waiting; /* in line, parked, and suspects */
    size_t most_waiting;
    size_t working; /* threads that have a job */
    size_t running; /* of those, in process() */
    bool closed;
    bool ending;
    pthread_t *threads;
    size_t count;
} pawli_server_crew;

/* Its lock lives from here to the end, whether it is started or not. */
void pawli_server_crew_init(pawli_server_crew *crew);
void pawli_server_crew_destroy(pawli_server_crew *crew);

pawl_status pawli_server_crew_start(pawli_server_crew *crew, const pawli_server_crew_work *work,
                                    size_t threads, size_t most_waiting, pawl_error *err);
/* False: too many are waiting, or it is closed; `done` is then not called. */
bool pawli_server_crew_take(pawli_server_crew *crew, pawli_job *job);
/* Take no more; those who wait are turned away, in this call. */
void pawli_server_crew_close(pawli_server_crew *crew, pawli_routes *routes);
/* Until nobody works; false: the deadline came first. */
bool pawli_server_crew_wait(pawli_server_crew *crew, pawl_mono deadline);
/* After pawli_server_crew_close(); waits for its threads. Fine if it was not started. */
void pawli_server_crew_done(pawli_server_crew *crew);

/* For a message that comes by another door: is there room on its route? If so, leave it after. */
bool pawli_server_crew_enter(pawli_server_crew *crew, pawli_route *route);
void pawli_server_crew_leave(pawli_server_crew *crew, pawli_route *route);
void pawli_server_crew_count(pawli_server_crew *crew, int64_t *ret_running, int64_t *ret_waiting);

#endif
