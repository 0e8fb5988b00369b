/* src/cli/topics.h - the topics of `pawl work`, and how many commands each may have at a time. */
#ifndef CLI_TOPICS_H
#define CLI_TOPICS_H

#include "args.h"

#define CLI_COMMANDS_MAX 256 /* at a time, in all and of one topic */

typedef struct cli_topic {
    char *name;
    int limit; /* 0: none of its own */
} cli_topic;

/* Zero-initialise it; cli_topics_done() in any case. */
typedef struct cli_topics {
    cli_topic *items;
    size_t count; /* 0: all topics */
} cli_topics;

/*
 * "a:5,b,c\:d": names with a comma between, each with an optional limit behind a colon; a backslash
 * before a comma, a colon or a backslash makes it a part of the name. One text per --topic.
 */
pawl_status cli_topics_parse(const cli_texts *given, cli_topics *topics, pawl_error *err);
void cli_topics_done(cli_topics *topics);

/* Enough for all limits, and one for each topic without; 1 if there is no limit at all. */
int cli_topics_concurrency(const cli_topics *topics);

#endif
