/* tests/crash/job_life.h - jobs put, scheduled, skipped, triggered, run and deleted while power is
 * lost.
 */
#ifndef PAWL_CRASH_JOB_LIFE_H
#define PAWL_CRASH_JOB_LIFE_H

#include "life.h"

#define JOB_LIFE_STEPS 13
#define JOB_LIFE_TEXT 4096

/* The jobs and their histories as public calls show them, after 0, 1, 2, ... steps. */
typedef struct job_life_book {
    char after[JOB_LIFE_STEPS + 1][JOB_LIFE_TEXT];
} job_life_book;

typedef struct job_life {
    int at;        /* the step that was not done, or JOB_LIFE_STEPS */
    answer answer; /* of that step */
} job_life;

/* Make an empty store at `path`. */
bool job_life_prepare(const char *path);
/* All steps with nothing failing, in a store just prepared. */
bool job_life_write_book(job_life_book *book, const char *path);
/* Steps until one is not done. */
void job_life_run(job_life *l, const char *path);
/*
 * What is at `path` after a restart is what the book says of the steps that were done: a step that
 * was not is not there, one in doubt is there whole or not at all. Going on from there leads to
 * the end of the book. False: `ret_text` says what is wrong.
 */
bool job_life_check(const job_life *l, const job_life_book *book, const char *path, char *ret_text,
                    size_t size);

#endif
