/* tests/upgrade/load.h - what the test and its processes share while they load a store. */
#ifndef PAWL_TEST_LOAD_H
#define PAWL_TEST_LOAD_H

#include <stdatomic.h>
#include <stdint.h>

#define LOAD_PROCESSES 6
#define LOAD_MESSAGES 200000 /* at most, of one process */

struct load {
    atomic_bool stop;                                 /* send no more; end when nothing is left */
    atomic_llong rounds[LOAD_PROCESSES];              /* that a process has completed */
    atomic_llong sent[LOAD_PROCESSES];                /* its messages are numbers from 0 on */
    atomic_uchar done[LOAD_PROCESSES][LOAD_MESSAGES]; /* how often a message was acknowledged */
};

#endif
