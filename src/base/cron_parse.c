/* src/base/cron_parse.c - reading a cron expression as a whole. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "civil.h"
#include "cron_private.h"
#include "fail.h"
#include "scope.h"

/* One more than there may be, to see that there are too many. */
#define PIECES (PAWLI_CRON_FIELDS + 1)
/* The rarest day there is, a fifth weekday in February, comes at least every 40 years. */
#define NEVER_YEARS 100

static const struct {
    const char *name;
    const char *fields;
} shortcuts[] = {
    {"@yearly", "0 0 0 1 1 *"}, {"@annually", "0 0 0 1 1 *"}, {"@monthly", "0 0 0 1 * *"},
    {"@weekly", "0 0 0 * * 0"}, {"@daily", "0 0 0 * * *"},    {"@midnight", "0 0 0 * * *"},
    {"@hourly", "0 0 * * * *"},
};

/* What is divided by blanks; returns the number of pieces, at most PIECES. */
static size_t cron_parse_split(const char *text, pawli_cron_piece pieces[PIECES])
{
    size_t count = 0;
    size_t at = 0;

    while (count < PIECES) {
        at += strspn(text + at, " \t");
        size_t size = strcspn(text + at, " \t");
        if (size == 0)
            break;
        pieces[count++] = (pawli_cron_piece){text + at, size, at + 1};
        at += size;
    }
    return count;
}

static bool same_word(pawli_cron_piece piece, const char *word)
{
    return strlen(word) == piece.size && strncasecmp(piece.text, word, piece.size) == 0;
}

static pawl_status unknown_shortcut(pawli_cron_piece piece, pawl_error *err)
{
    char shown[PAWLI_CRON_SHOWN];
    const char *best = NULL;

    if (same_word(piece, "@reboot"))
        return pawli_fail(err, PAWL_E_INVALID,
                          "column %zu of the schedule: @reboot is not a time; use @hourly, @daily, "
                          "@weekly, @monthly or @yearly",
                          piece.column);
    for (size_t i = 0; i < PAWLI_COUNT(shortcuts); i++)
        if (piece.size >= 2 && strncasecmp(piece.text, shortcuts[i].name, 2) == 0)
            best = shortcuts[i].name;
    if (best)
        return pawli_fail(err, PAWL_E_INVALID,
                          "column %zu of the schedule: there is no '%s'; did you mean %s?",
                          piece.column, pawli_cron_shown(piece, shown), best);
    return pawli_fail(err, PAWL_E_INVALID,
                      "column %zu of the schedule: there is no '%s'; use @hourly, @daily, @weekly, "
                      "@monthly or @yearly",
                      piece.column, pawli_cron_shown(piece, shown));
}

static pawl_status parse_fields(const pawli_cron_piece *pieces, size_t count, pawli_cron *cron,
                                pawl_error *err)
{
    size_t missing = PAWLI_CRON_FIELDS - count; /* 1: without seconds */
    pawl_status st = PAWL_OK;

    if (missing == 1)
        cron->seconds = 1;
    for (size_t i = 0; i < count && st == PAWL_OK; i++)
        st = pawli_cron_field((pawli_cron_field_id)(i + missing), pieces[i], cron, err);
    return st;
}

/* Only days can be impossible: the 31st of February, L-30 in April, star/11 that is a 5L. */
static pawl_status cron_parse_check_ever(const pawli_cron *cron, pawli_cron_piece days,
                                         pawl_error *err)
{
    char shown[PAWLI_CRON_SHOWN];
    int64_t from_s = pawli_civil_days(2000, 1, 1) * PAWLI_DAY_S;
    int64_t until_s = pawli_civil_days(2000 + NEVER_YEARS, 1, 1) * PAWLI_DAY_S;
    int64_t found_s;

    if (pawli_cron_match(cron, from_s, until_s, &found_s))
        return PAWL_OK;
    return pawli_fail(err, PAWL_E_INVALID,
                      "column %zu of the schedule: no day fits '%s' together with the month and "
                      "day of the week that the schedule names, so that it would never fire",
                      days.column, pawli_cron_shown(days, shown));
}

static pawl_status wrong_count(const pawli_cron_piece *pieces, size_t count, size_t length,
                               pawl_error *err)
{
    if (count == PIECES)
        return pawli_fail(err, PAWL_E_INVALID,
                          "column %zu of the schedule: there is a seventh field; there are at most "
                          "six, second to day of the week, and none for the year",
                          pieces[PIECES - 1].column);
    return pawli_fail(err, PAWL_E_INVALID,
                      "column %zu of the schedule: %zu field%s, but it needs 5 (minute, hour, day "
                      "of the month, month, day of the week), 6 (with seconds first), @daily, or "
                      "'every 10m'",
                      length + 1, count, count == 1 ? " is there" : "s are there");
}

pawl_status pawli_cron_parse(const char *text, pawli_cron *ret_cron, pawl_error *err)
{
    pawli_cron_piece pieces[PIECES];
    size_t count = cron_parse_split(text, pieces);
    pawli_cron cron = {0};
    pawl_status st;

    if (count == 1 && pieces[0].text[0] == '@') {
        for (size_t i = 0; i < PAWLI_COUNT(shortcuts); i++)
            if (same_word(pieces[0], shortcuts[i].name))
                return pawli_cron_parse(shortcuts[i].fields, ret_cron, err);
        return unknown_shortcut(pieces[0], err);
    }
    if (count != PAWLI_CRON_FIELDS && count != PAWLI_CRON_FIELDS - 1)
        return wrong_count(pieces, count, strlen(text), err);
    st = parse_fields(pieces, count, &cron, err);
    if (st == PAWL_OK)
        st = cron_parse_check_ever(&cron, pieces[count - 3], err);
    if (st == PAWL_OK)
        *ret_cron = cron;
    return st;
}
