/* src/cli/terminal/units.h - parsing and formatting times, durations and sizes. */
#ifndef CLI_UNITS_H
#define CLI_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/clock.h>
#include <pawl/error.h>

#define CLI_WHEN_SIZE 64
/* Room for one of the texts below, until the end of the block. */
#define CLI_ROOM ((char[CLI_WHEN_SIZE]){0})

#define CLI_SECOND_MS INT64_C(1000)
#define CLI_MINUTE_MS (60 * CLI_SECOND_MS)
#define CLI_HOUR_MS (60 * CLI_MINUTE_MS)
#define CLI_DAY_MS (24 * CLI_HOUR_MS)
#define CLI_CENTURY_MS (36525 * CLI_DAY_MS)

/* Parses "250ms", "30s", "1h30m", "7d", "2w", "0"; a number without a unit is rejected. */
bool cli_span_parse(const char *text, int64_t *ret_span_ms);
/* Formats as "1h30m": exact; written into `ret_text` and returned. */
const char *cli_span_text(int64_t span_ms, char ret_text[CLI_WHEN_SIZE]);

/* Either an absolute time or a duration from the database's current time. */
typedef struct cli_when {
    bool is_relative;
    int64_t span_ms;
    pawl_wall at;
} cli_when;

/*
 * Parses "2026-01-01T09:00Z", "2026-01-01 09:00:30.5+01:00", "in 5m", "now". Ambiguous input (no
 * time zone, "tomorrow") is rejected; `what` names the option in the message.
 */
pawl_status cli_when_parse(const char *what, const char *text, cli_when *ret_when, pawl_error *err);

/* "in 5m", "3m ago", "now". */
const char *cli_when_relative(pawl_wall at, pawl_wall now, char ret_text[CLI_WHEN_SIZE]);
/* "2026-01-01 09:00:00Z" */
const char *cli_when_absolute(pawl_wall at, char ret_text[CLI_WHEN_SIZE]);
/* "in 5m (2026-01-01 09:00:00Z)" */
const char *cli_when_both(pawl_wall at, pawl_wall now, char ret_text[CLI_WHEN_SIZE]);
/* "2026-01-01T09:00:00.000000Z" */
const char *cli_when_rfc3339(pawl_wall at, char ret_text[CLI_WHEN_SIZE]);

/* "12,345"; written into `ret_text` and returned. */
const char *cli_count_text(int64_t number, char ret_text[CLI_WHEN_SIZE]);

/* Parses "512", "64KiB", "1MiB", "2GiB". "MB" is rejected because it is ambiguous. */
bool cli_size_parse(const char *text, int64_t *ret_bytes);
/* Formats exactly, in the largest unit that is exact; written into `ret_text` and returned. */
const char *cli_size_text(int64_t bytes, char ret_text[CLI_WHEN_SIZE]);

#endif
