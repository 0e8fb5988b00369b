/* src/cli/suggest.h - suggestions: "did you mean ...?" */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include <stddef.h>

/* Pass candidates one by one; `best` is the nearest so far, NULL while none is near enough. */
typedef struct cli_suggestion {
    const char *given;
    const char *best;
    size_t distance;
} cli_suggestion;

void cli_suggest(cli_suggestion *suggestion, const char *candidate);

#endif
