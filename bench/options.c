/* bench/options.c - what the command line asked for. */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

static const char usage[] =
    "usage: bench [OPTION...] DIRECTORY [CONNINFO]\n"
    "\n"
    "Measure pawl beside programs written by hand. SQLite files are made in DIRECTORY; CONNINFO is "
    "a\n"
    "PostgreSQL server, in which schemas named pawl_bench_... are made and dropped.\n"
    "\n"
    "  --only PATTERN   only the row with that id, or all that a shell pattern finds\n"
    "  --side SIDE      only pawl, or only raw: to profile it\n"
    "  --rounds N       rounds of each side (default 15)\n"
    "  --seconds S      length of a round (default 0.2)\n"
    "  --json FILE      the same for machines\n"
    "  --list           print the ids of the rows, measure nothing\n"
    "  --short          as little as possible of everything: does it still run?\n"
    "  --note TEXT      printed in the first line\n";

static _Noreturn void options_refuse(const char *what)
{
    fprintf(stderr, "bench: %s\n%s", what, usage);
    exit(64);
}

static double number_of(const char *text, double least, double most)
{
    char *end = NULL;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !(value >= least && value <= most))
        options_refuse("--rounds takes 1 to 99, --seconds 0.01 to 600");
    return value;
}

static void choose_side(options *opts, const char *name)
{
    opts->only_pawl = strcmp(name, "pawl") == 0;
    opts->only_raw = strcmp(name, "raw") == 0;
    if (!opts->only_pawl && !opts->only_raw)
        options_refuse("--side takes pawl or raw");
}

static void make_short(options *opts)
{
    opts->is_short = true;
    opts->rounds = 1;
    opts->seconds = 0.02;
    opts->held_seconds = 0.5;
    opts->ballast = 2000;
    opts->backlog = 2000;
    opts->latency_rounds = 1;
    opts->letters = 20;
    opts->warm_letters = 10;
    opts->idle_seconds = 0.5;
}

options options_parse(int argc, char **argv)
{
    enum { ONLY, SIDE, ROUNDS, SECONDS, JSON, LIST, SHORT, NOTE, HELP };
    static const struct option known[] = {
        {"only", required_argument, NULL, ONLY},     {"side", required_argument, NULL, SIDE},
        {"rounds", required_argument, NULL, ROUNDS}, {"seconds", required_argument, NULL, SECONDS},
        {"json", required_argument, NULL, JSON},     {"list", no_argument, NULL, LIST},
        {"short", no_argument, NULL, SHORT},         {"note", required_argument, NULL, NOTE},
        {"help", no_argument, NULL, HELP},           {0},
    };
    options opts = {.rounds = 15,
                    .seconds = 0.2,
                    .held_seconds = 60,
                    .ballast = 1000000,
                    .backlog = 1000000,
                    .latency_rounds = 4,
                    .letters = 1000,
                    .warm_letters = 200,
                    .idle_seconds = 60};
    int found;

    while ((found = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (found) {
        case ONLY:
            opts.only = optarg;
            break;
        case SIDE:
            choose_side(&opts, optarg);
            break;
        case ROUNDS:
            opts.rounds = (int)number_of(optarg, 1, ROUNDS_MAX);
            break;
        case SECONDS:
            opts.seconds = number_of(optarg, 0.01, 600);
            break;
        case JSON:
            opts.json = optarg;
            break;
        case LIST:
            opts.list = true;
            break;
        case SHORT:
            make_short(&opts);
            break;
        case NOTE:
            opts.note = optarg;
            break;
        case HELP:
            fputs(usage, stdout);
            exit(0);
        default:
            options_refuse("that option is not known or lacks its value");
        }
    }
    if (argc - optind < 1 || argc - optind > 2)
        options_refuse("a directory for SQLite files is needed");
    opts.directory = argv[optind];
    opts.postgres = argc - optind == 2 && argv[optind + 1][0] ? argv[optind + 1] : NULL;
    return opts;
}
