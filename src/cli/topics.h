/* src/cli/topics.h - the topics of `pawl work`, and the concurrency limit of each. */
#ifndef CLI_TOPICS_H
#define CLI_TOPICS_H

#include "args.h"

#define CLI_COMMANDS_MAX 256 /* concurrent, in total and per topic */

typedef struct cli_topic {
    char *name;
    int limit; /* 0: no limit of its own */
} cli_topic;

/* Zero-initialize it; call cli_topics_done() in any case. */
typedef struct cli_topics {
    cli_topic *items;
    size_t count; /* 0: all topics */
} cli_topics;

/*
 * Parses "a:5,b,c\:d": names separated by commas, each with an optional limit after a colon; a
 * backslash before a comma, a colon or a backslash makes it part of the name. One text per --topic.
 */
pawl_status cli_topics_parse(const cli_texts *given, cli_topics *topics, pawl_error *err);
void cli_topics_done(cli_topics *topics);

/*
 * The sum of all limits, plus one for each topic without a limit, at most CLI_COMMANDS_MAX; 1 if no
 * topic has a limit.
 */
int cli_topics_concurrency(const cli_topics *topics);

#endif
