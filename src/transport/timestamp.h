/* src/transport/timestamp.h - times as text: RFC 3339 in envelopes, HTTP dates in Retry-After. */
#ifndef PAWLI_TIMESTAMP_H
#define PAWLI_TIMESTAMP_H

#include <stdbool.h>
#include <stdint.h>

#include <pawl/clock.h>

#define PAWLI_TIMESTAMP_SIZE 32

/* Formats as "2026-02-14T12:00:00Z": whole seconds, UTC. */
void pawli_timestamp_format(pawl_wall time, char ret_text[PAWLI_TIMESTAMP_SIZE]);
/* Parses any RFC 3339 time from 1970 on, with any offset. False: invalid. */
bool pawli_timestamp_parse(const char *text, pawl_wall *ret_time);
/*
 * Parses Retry-After: seconds, or an HTTP date in the form that senders must use ("Sun, 06 Nov 1994
 * 08:49:37 GMT"). Milliseconds from `now`, 0 for the past, at most a day; -1: neither.
 */
int64_t pawli_retry_after_ms(const char *text, pawl_wall now);

#endif
