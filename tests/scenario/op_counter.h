/* tests/scenario/op_counter.h - which ops a store runs, and how often. */
#ifndef PAWL_TEST_OP_COUNTER_H
#define PAWL_TEST_OP_COUNTER_H

#include <pawl/store.h>

#include "sql_names.h"

/* From now on the ops of this store are counted, from 0; one store at a time. No call of it may be
 * running. */
void op_counter_start(pawl_store *store);
/* How often this statement ran since then; and how many did in all. Any thread. */
int op_counter_of(enum pawli_sql sql);
int op_counter_total(void);

#endif
