/* bench/row.h - the rows of the table: what is measured, against what, and what came out. */
#ifndef BENCH_ROW_H
#define BENCH_ROW_H

#include <stdbool.h>

#include "load.h"
#include "timeline.h"

/* An engine in one of its durabilities. */
typedef struct target {
    const char *id;         /* "sqlite-full" */
    const char *title;      /* for the table */
    const char *durability; /* for the machine */
    const engine *const *engine;
    pawl_durability setting;
} target;

typedef enum row_kind {
    ROW_RAW,      /* pawl against the raw side */
    ROW_BALLAST,  /* pawl among millions of other messages against pawl alone */
    ROW_HELD,     /* pawl while somebody holds a transaction open against pawl undisturbed */
    ROW_MEMORY,   /* the peak of a worker's memory */
    ROW_WORKER,   /* pawl's worker with a handler that does nothing against the raw side */
    ROW_LATENCY,  /* from the sender's answer to the handler's start */
    ROW_IDLE,     /* what a worker costs that has nothing to do */
    ROW_TIMER,    /* how long single calls take while many timers are pending */
    ROW_JOB,      /* how long a scheduler's look takes, against the same by hand */
    ROW_DELIVERY, /* from one database to an effect in another, against posts without any */
    ROW_TEN,      /* eight destinations beside two bad ones, against the same beside good ones */
} row_kind;

typedef enum row_disturbance {
    DISTURBANCE_NONE,
    DISTURBANCE_SNAPSHOT, /* an open transaction that has read */
    DISTURBANCE_WRITER,   /* an open transaction that has sent a message */
} row_disturbance;

typedef enum row_timer {
    TIMER_SCHEDULE,
    TIMER_CLAIM_NONE,  /* that finds nothing due */
    TIMER_CLAIM_FOUND, /* that finds a hundred */
    TIMER_START,       /* from the due time to the handler's start, through a worker */
} row_timer;

#define WINDOWS 12 /* of a held row */

typedef struct row {
    const target *target;
    row_kind kind;
    load load;
    int topics;
    row_disturbance disturbance;
    bool by_worker;     /* ROW_MEMORY: pawl's worker; otherwise claims by hand */
    bool two_processes; /* ROW_LATENCY: the sender and the receiver */
    row_timer timer;
    bool over_unix;   /* ROW_DELIVERY: a unix socket; otherwise TCP */
    bool silent;      /* ROW_TEN: the dead one never answers; otherwise it refuses */
    bool many_jobs;   /* ROW_JOB: 100,000, of which ten are due; otherwise those ten */
    int pending_part; /* ROW_TIMER: 1: as many timers as the ballast; 10: a tenth of them */
    double bar;       /* the ratio to reach; ROW_TIMER: the milliseconds to stay below; 0: none */
    char id[64];
    char text[96];
    /* What came out; 0: not measured. Rates are messages per second. */
    double pawl_rate, raw_rate;
    double pawl_reference,
        raw_reference;              /* the same side undisturbed: ROW_BALLAST, ROW_HELD, ROW_TEN */
    double pawl_paired, raw_paired; /* median of the ratios round by round; 0: from the rates */
    double pawl_windows[WINDOWS], raw_windows[WINDOWS];
    long start_kib, peak_kib;                   /* ROW_MEMORY */
    spread pawl_latency, raw_latency, raw_wake; /* ROW_LATENCY */
    double cpu_seconds, server_cpu_seconds;     /* ROW_IDLE */
    double p50_ms, p99_ms, max_ms;              /* ROW_TIMER, ROW_JOB */
    double raw_p50_ms, raw_p99_ms;              /* ROW_JOB */
} row;

/* pawl's rate against raw's or against its own undisturbed one; 0: not measured. */
double row_ratio(const row *self);
/* The same of the raw side, where it has one. */
double row_raw_ratio(const row *self);
/* Whether it has a bar and was measured; and whether it met it. */
bool row_has_bar(const row *self);
bool row_met_bar(const row *self);

#endif
