/* bench/options.h - what the command line asked for. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct options {
    const char *directory; /* for SQLite files */
    const char *postgres;  /* a conninfo; NULL: without PostgreSQL */
    const char *json;      /* a file to write; NULL: none */
    const char *only;      /* a pattern for the ids of rows; NULL: all */
    const char *note;      /* printed with the table */
    bool only_pawl;
    bool only_raw;
    bool list; /* only say which rows there are */
    bool is_short;
    int rounds;
    double seconds;      /* of one round of one side */
    double held_seconds; /* of one run of a held row */
    int latency_rounds;  /* of each side of a latency row */
    int letters;         /* messages of such a round, */
    int warm_letters;    /* and how many come before them and do not count */
    double idle_seconds; /* of an idle row */
    int64_t ballast;     /* finished messages, and as many future ones */
    int64_t backlog;     /* of the memory rows */
} options;

/* Ends the program with a usage message when it cannot be understood. */
options options_parse(int argc, char **argv);

#endif
