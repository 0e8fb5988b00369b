/* tests/scenario/finding.h - the first thing that was not as it should be, as a sentence. */
#ifndef PAWL_SCENARIO_FINDING_H
#define PAWL_SCENARIO_FINDING_H

#include <stdbool.h>

#include <pawl/export.h>

/* All zero: nothing was found. */
typedef struct finding {
    bool found;
    char text[768];
} finding;

/* Keeps only the first sentence. Returns false, so that a check can end with it. */
bool finding_say(finding *wrong, const char *format, ...) PAWL_PRINTF(2, 3);

#endif
