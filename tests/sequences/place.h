/* tests/sequences/place.h - the database that sequences are played in, emptied for each. */
#ifndef PAWL_SEQUENCES_PLACE_H
#define PAWL_SEQUENCES_PLACE_H

#include <pawl/pawl.h>

#include "broken.h"
#include "fixture.h"
#include "handle.h"
#include "step.h"

typedef struct place {
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
} place;

/* The engine is the environment's; closed when the test ends. */
place *place_open(void);
/* Nothing in it, the clock at `start_us`. `with_lanes`: the lanes are already there. */
void place_reset(place *p, int64_t start_us, bool with_lanes);
void place_set_clock(place *p, int64_t now_us);
void place_reopen(place *p, int store);
/* As if every lane were due to be looked at from its beginning. */
void place_make_sweeps_due(place *p);

/* The application's transaction; NULL and a reason if it cannot be had. */
pawl_tx *place_tx(place *p, int which, int store, finding *wrong);
void place_tx_end(place *p, int which, bool commit);

/* Let the `nth` call of the database's library from now on fail. */
void place_arm(place *p, int nth);
/* Stop; whether it failed. What a cut connection's server was doing has ended when this returns. */
bool place_disarm(place *p);

/* How many messages are in the queue and finished, or neither; and claims of which nothing is held.
 */
long long place_rule_breaches(place *p);

/* From now on the store is broken. */
void place_break(place *p, const broken *how);

#endif
