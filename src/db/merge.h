/* src/db/merge.h - running several ops of one kind, of several callers, as one op. */
#ifndef PAWLI_MERGE_H
#define PAWLI_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "op.h"
#include "row.h"

/* The merged op is `op`; its rows are those of the parts, concatenated. */
typedef struct pawli_merge {
    pawli_op op;
    pawli_rows rows;
    const pawli_op *const *parts; /* the caller's */
    size_t count;
    size_t *starts; /* count + 1 entries: where a part's rows begin in the merged rows */
    pawli_value *values;
    size_t part; /* the part of the last result row */
} pawli_merge;

/* Whether the two may be merged. */
bool pawli_merge_fits(const pawli_op *first, const pawli_op *next);
/* `parts` fit and outlive the merge. False: out of memory. */
bool pawli_merge_make(pawli_merge *merge, const pawli_op *const *parts, size_t count);
void pawli_merge_done(pawli_merge *merge);

#endif
