/*
 * tests/concurrency/poison.h - state shared by the receivers of messages, one of which kills its
 * receiver, share: a file that each of them maps, so that it outlives those that are killed.
 */
#ifndef PAWL_TEST_POISON_H
#define PAWL_TEST_POISON_H

#include <stdatomic.h>
#include <stdbool.h>

#define POISON_MESSAGES 12
#define POISON_KILLER 5 /* the message whose handler kills the process */
#define POISON_ATTEMPTS 3
#define POISON_SOURCE "shop"
#define POISON_BUSY 75 /* exit status: the machine is busy, again */

typedef struct poison {
    bool call_out;                        /* else atomic */
    atomic_bool ended[POISON_MESSAGES];   /* processed, or dead */
    atomic_bool refused[POISON_MESSAGES]; /* dead */
    atomic_int effects[POISON_MESSAGES];  /* handlers that returned, and whose end was committed */
    atomic_int together;                  /* the most that were begun when the process was killed */
} poison;

#endif
