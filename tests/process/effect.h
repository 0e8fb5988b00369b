/* tests/process/effect.h - the rows of an application's own that a handler writes. */
#ifndef PAWL_PROCESS_EFFECT_H
#define PAWL_PROCESS_EFFECT_H

#include <stdbool.h>

#include <pawl/pawl.h>

/*
 * One row into TABLE(value), through pawl's transaction. The table has no constraint: what is
 * written twice is there twice.
 */
bool effect_write(pawl_tx *tx, const char *table, long value);
/* Wrong on purpose: the same in a transaction of its own, which nothing guards. */
bool effect_write_outside(const char *url, const char *table, long value);

#endif
