/* tests/leases/play.h - random histories of leases on a real store, beside the model. */
#ifndef PAWL_LEASES_PLAY_H
#define PAWL_LEASES_PLAY_H

#include "fixture.h"
#include "model.h"

typedef enum deed {
    DEED_ACQUIRE,
    DEED_RENEW,
    DEED_RELEASE,
    DEED_FORCE,
    DEED_GUARD,
    DEED_CLEAN,
    DEED_CLAIM, /* a message, whose token is of the same counter */
    DEED_LOOK,
    DEED_CLOCK,  /* on, to the end of a lease, far ahead, or back */
    DEED_REOPEN, /* as if the process had ended and another begun */
    DEED_COUNT
} deed;

/*
 * A store that is broken on purpose: the right one, with something done to its table around a call,
 * as if the call had done otherwise. SQL as fixture_exec() takes it; {saved} is the table before.
 */
typedef struct broken {
    const char *what;
    deed deed;
    const char *before; /* may be NULL */
    const char *after;
    bool any_token; /* the call is made with the token that is the right one just now */
} broken;

typedef struct coverage {
    uint64_t done[DEED_COUNT];
    uint64_t taken, extended, held, lost, passed, stale;
} coverage;

typedef struct play {
    fixture *f;
    const broken *broken; /* NULL: nothing is */
    pawl_store *stores[2];
    model m;
    uint64_t random;
    finding wrong;
    coverage covered;
    char log[4096]; /* what was done in this history */
    size_t log_used;
} play;

void play_init(play *p, fixture *f, const broken *how);
/* One history. False: something is wrong, and `wrong` and `log` say what. */
bool play_history(play *p, uint64_t seed, int deeds);

#endif
