/* src/base/interval.h - interval schedules: "every 1h30m" and "every 10m from start". */
#ifndef PAWLI_INTERVAL_H
#define PAWLI_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#include <pawl/error.h>

#include "buffer.h"

typedef struct pawli_interval {
    int64_t length_s;
    bool from_start;
} pawli_interval;

/* Whether the text begins with the word "every". */
bool pawli_interval_begins(const char *text);
/* PAWL_E_INVALID: the message gives the column and the reason. */
PAWL_MUST_CHECK pawl_status pawli_interval_parse(const char *text, pawli_interval *ret_interval,
                                                 pawl_error *err);
/* "every 1 hour 30 minutes" */
void pawli_interval_describe(const pawli_interval *interval, pawli_buffer *buffer);

#endif
