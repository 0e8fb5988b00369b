/* tests/fault/life_steps.h - the calls of one life, in order. */
#ifndef PAWL_TEST_LIFE_STEPS_H
#define PAWL_TEST_LIFE_STEPS_H

#include "kit.h"

#define LIFE_MESSAGES 8

typedef struct life {
    fixture *f;
    pawl_store *store;
    pawl_tx *tx;
    pawl_held held[LIFE_MESSAGES]; /* by number of the message; [0] is not used */
} life;

typedef struct life_step {
    const char *name;
    void (*prepare)(life *l);                      /* never fails, may be made twice */
    pawl_status (*call)(life *l, pawl_error *err); /* the call under test */
    void (*settle)(life *l, pawl_status st);       /* afterwards, however it ended */
    const char *effect; /* SQL: 0 when nothing of it is there; NULL: it only reads */
    int64_t whole;      /* and this when all of it is */
} life_step;

/* Ends with a step without a name. Message n is the one whose correlation id is n. */
extern const life_step life_steps[];

#endif
