/* src/db/merge.h - several ops of one kind, of several callers, run as one. */
#ifndef PAWLI_MERGE_H
#define PAWLI_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "op.h"
#include "row.h"

/* The whole is `op`; its rows are those of the parts, one after the other. */
typedef struct pawli_merge {
    pawli_op op;
    pawli_rows rows;
    const pawli_op *const *parts; /* the caller's */
    size_t count;
    size_t *starts; /* count + 1: where a part's rows begin among all */
    pawli_value *values;
    size_t part; /* the one that was answered last */
} pawli_merge;

/* Whether the two may run as one. */
bool pawli_merge_fits(const pawli_op *first, const pawli_op *next);
/* `parts` fit and outlive the merge. False: there was no memory for it. */
bool pawli_merge_make(pawli_merge *merge, const pawli_op *const *parts, size_t count);
void pawli_merge_done(pawli_merge *merge);

#endif
