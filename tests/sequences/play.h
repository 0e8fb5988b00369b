/* tests/sequences/play.h - carrying out a sequence in the store and in the model, side by side. */
#ifndef PAWL_SEQUENCES_PLAY_H
#define PAWL_SEQUENCES_PLAY_H

#include "place.h"
#include "step.h"

/* What has happened so far: sequences in which nothing does would prove nothing. */
typedef struct coverage {
    uint64_t effective[STEP_KINDS]; /* steps that changed or found something */
    uint64_t conflicts;
    uint64_t repeated; /* sent again, and known */
    uint64_t committed;
    uint64_t stale; /* answers for messages that were no longer held so */
    uint64_t lost;  /* the caller got no answer */
    uint64_t faults;
    uint64_t in_doubt;
    uint64_t forgotten; /* totals of a topic */
} coverage;

typedef struct player {
    place *at;
    model m;
    finding wrong;
    coverage covered;
} player;

void player_begin(player *p, place *at, const sequence *q);
/* False when the store is not as it should be; `wrong` says what. */
bool player_step(player *p, const step *s);

/* ---- shared by the files of the player ---- */

/* What became of a call. */
typedef enum fate {
    FATE_DONE,
    FATE_NOT_DONE,
    FATE_IN_DOUBT, /* one of the two; the store must be asked */
    FATE_WRONG     /* an answer that it should not have given */
} fate;

pawl_store *player_store(player *p, const step *s);
/* Before and after the call under test, for steps with a fault. */
void player_arm(player *p, const step *s);
fate player_fate(player *p, const step *s, pawl_status st, const pawl_error *err);

/* play_send.c */
void play_send(player *p, const step *s);
void play_tx_send(player *p, const step *s);
void play_tx_end(player *p, int which, bool commit);
/* play_take.c */
void play_claim(player *p, const step *s);
void play_held(player *p, const step *s);
/* play_change.c: everything that answers how many messages it changed */
void play_change(player *p, const step *s);
void play_reap(player *p, const step *s);
/* The pairs of an answer, from what owners were given. */
size_t play_resolve(const model *m, const step *s, pawl_held ret_items[STEP_PICKS]);
void play_read(player *p, const step *s);
/* The filter of a step; strings are static. */
pawl_filter play_filter(const model *m, const step *s);

/* ---- compare.c ---- */

bool compare_message(const model *m, const model_message *expected, const pawl_message *found,
                     bool with_payload, finding *wrong);
/* -1 when the model does not have it. */
int compare_number(const model *m, const pawl_message *found);
/* All messages, the counts, and what every owner holds, through one of the stores. */
bool compare_everything(place *at, const model *m, int store, finding *wrong);
/* Which topics the store has a lane or totals of. */
void compare_has_totals(place *at, const model *m, int store, bool ret_has[MODEL_TOPICS],
                        finding *wrong);
/* Which messages the store has in progress. */
void compare_in_progress(place *at, const model *m, bool ret_held[MODEL_MESSAGES], finding *wrong);

#endif
