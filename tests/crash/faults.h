/* tests/crash/faults.h - a disk that fails once, and a program that goes on. */
#ifndef PAWL_CRASH_FAULTS_H
#define PAWL_CRASH_FAULTS_H

#include "campaign.h"

typedef struct fault_campaign {
    const char *directory;
    crash_fault fault;
    int in_a_row; /* how often it fails before it works again */
    long first;
    long stride;
} fault_campaign;

typedef struct fault_result {
    long points;   /* faults that happened */
    long in_doubt; /* answers */
    long not_done; /* answers */
    long there;    /* of those in doubt, how many had been done after all */
    long images;   /* looked at, of a power cut after the end */
    long violations;
    char first[1024];
} fault_result;

/*
 * For one operation after the other: it fails, the step is judged by what the store then shows and
 * made again if it was not done, the scenario goes on to its end, and then power is lost.
 */
void faults_run(const fault_campaign *c, fault_result *ret_result);

#endif
