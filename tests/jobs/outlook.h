/* tests/jobs/outlook.h - what a scheduler that looks at a job at a moment is to make of it. */
#ifndef PAWL_JOBS_OUTLOOK_H
#define PAWL_JOBS_OUTLOOK_H

#include "model.h"

#define OUTLOOK_ENTRIES 1001

typedef struct outlook_entry {
    bool runs;
    bool was_there;         /* recorded before the clock was set back: not again */
    pawl_run_reason reason; /* of a skip */
    pawl_wall first;
    pawl_wall last;
    int64_t slots;
} outlook_entry;

typedef struct outlook {
    outlook_entry entries[OUTLOOK_ENTRIES]; /* oldest first */
    size_t count;
    model_runs open; /* as they are afterwards; new ones have no id yet */
    size_t promoted; /* of those that were there */
    pawl_wall since;
    pawl_wall last;
    bool awaits; /* the new run */
} outlook;

/* `read`: the clock when the job was looked at; `now`: when what was decided is written. */
void outlook_make(const model_job *job, pawl_wall read, pawl_wall now, outlook *o);
bool outlook_is_empty(const outlook *o);
/* Entries that are not there yet. */
size_t outlook_to_record(const outlook *o);
void outlook_done(outlook *o);

/*
 * Compare with what was recorded, oldest first: exactly that, or nothing at all. On true the model
 * follows it.
 */
bool outlook_follow(outlook *o, model_job *job, const pawl_run *const *rows, size_t count,
                    finding *wrong);

#endif
