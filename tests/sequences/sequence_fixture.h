/* tests/sequences/sequence_fixture.h - the database that sequences are played in, emptied for each.
 */
#ifndef PAWL_SEQUENCE_FIXTURE_H
#define PAWL_SEQUENCE_FIXTURE_H

#include <pawl/pawl.h>

#include "broken.h"
#include "fixture.h"
#include "handle.h"
#include "sequence_step.h"

typedef struct sequence_fixture {
    fixture *f;
    bool postgres;
    const handle_engine *engine;
    handle *own;                    /* moves the clock */
    handle *handles[MODEL_HANDLES]; /* the application's */
    pawl_tx *txs[MODEL_HANDLES];
    pawl_store *stores[MODEL_STORES];
    const char *reset_sql;
    const char *rule_sql;
    const char *lanes_sql;
    const char *clock_name;
    broken_store broken;
} sequence_fixture;

/* The engine is the environment's; closed when the test ends. */
sequence_fixture *sequences_open(void);
/* Nothing in it, the clock at `start_us`. `with_lanes`: the lanes are already there. */
void sequences_reset(sequence_fixture *p, int64_t start_us, bool with_lanes);
void sequences_set_clock(sequence_fixture *p, int64_t now_us);
void sequences_reopen(sequence_fixture *p, int store);
/* As if every lane were due for a sweep. */
void sequences_make_sweeps_due(sequence_fixture *p);

/* The application's transaction; NULL and a reason if it cannot be had. */
pawl_tx *sequences_tx(sequence_fixture *p, int which, int store, finding *wrong);
void sequences_tx_end(sequence_fixture *p, int which, bool commit);

/* Let the `nth` call of the database's library from now on fail. */
void sequences_arm(sequence_fixture *p, int nth);
/* Stops; returns whether it failed. The server of a cut connection has finished when this returns.
 */
bool sequences_disarm(sequence_fixture *p);

/* How many messages are in the queue and finished, or neither; and claims without running messages.
 */
long long sequences_rule_breaches(sequence_fixture *p);

/* From now on the store is broken. */
void sequences_break(sequence_fixture *p, const broken *how);

#endif
