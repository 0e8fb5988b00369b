/* tests/schedule/peer_test.c - schedules against the results of another implementation. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "civil.h"
#include "schedule.h"
#include "test.h"

#define US INT64_C(1000000)
#define LINE_SIZE 1024

/* A line of the file, see cases.mjs. */
typedef struct peer_case {
    char text[PAWL_SCHEDULE_MAX + 1];
    char zone[64];
    int64_t after_s;
    char fires[128];
} peer_case;

/* Where the peer's rules are not ours, deliberately: docs/internals/schedule.md. */
typedef enum peer_rule {
    SAME,
    EITHER_DAY,    /* a star with a step does not count as a star in the fields of days */
    SEVERAL_TIMES, /* several times a day, or a step, are a rhythm also without a star */
    LONG_GAP,      /* occurrences in a gap of a day or more are not made up for */
    LOST_DAYS,     /* a mistake of the peer: it loses the 1st and 2nd of March */
    RULES
} peer_rule;
static const char *const rule_names[RULES] = {
    "agree", "differ by a stepped star in a day", "differ by several times a day",
    "differ by a day that never was", "differ by days the peer loses"};

typedef struct tally {
    long cases;
    long answers[RULES];
} tally;

/* A fixed time by the peer's definition: one a day, and no step in second, minute and hour. */
static bool one_time_a_day(const pawl_schedule *schedule)
{
    const pawli_cron *cron = &schedule->cron;
    const char *days = schedule->text + strlen(schedule->text);
    const char *slash = strchr(schedule->text, '/');

    for (int fields = 0; fields < 3 && days > schedule->text; days--)
        fields += days[-1] == ' ';
    return (!slash || slash > days) && __builtin_popcountll(cron->seconds) == 1 &&
           __builtin_popcountll(cron->minutes) == 1 && __builtin_popcount(cron->hours) == 1;
}

static int64_t next_s(const pawl_schedule *schedule, int64_t after_s, pawl_occurrence *ret_fire)
{
    bool found = pawli_schedule_next(schedule, after_s, PAWLI_SCHEDULE_LAST_S, ret_fire);

    return found ? ret_fire->at.us / US : -1;
}

static bool moved_over_a_day(const pawl_schedule *schedule, const pawl_occurrence *fire)
{
    pawli_zone_period before;

    pawli_zone_at(schedule->zone, fire->at.us / US - 1, &before);
    return fire->kind == PAWL_OCCURRENCE_MOVED &&
           fire->utc_offset_s - before.offset_s >= PAWLI_DAY_S;
}

/* The schedule by the peer's rules, as far as they are asked for; false if they are ours here. */
static bool by_rules(pawl_schedule *peer, bool either_day, bool rhythm, bool long_gap)
{
    pawli_cron *cron = &peer->cron;
    bool stepped = (cron->month_day_star && cron->month_days != 0xfffffffe) ||
                   (cron->week_day_star && cron->week_days != 0x7f);

    if ((either_day && !stepped) ||
        (rhythm && !long_gap && (cron->has_wildcard || one_time_a_day(peer))))
        return false;
    cron->month_day_star &= !either_day || cron->month_days == 0xfffffffe;
    cron->week_day_star &= !either_day || cron->week_days == 0x7f;
    cron->has_wildcard |= rhythm;
    return true;
}

/* The peer searches for the 29th to 31st of February, too, and what it finds there are days in
 * March: it steps over the first two. Its further results are right again. */
static bool loses_days(const pawl_schedule *peer, int64_t after_s, int64_t peer_s)
{
    pawl_occurrence fire;

    return next_s(peer, after_s, &fire) < peer_s && fire.local.month == 3 && fire.local.day <= 2 &&
           next_s(peer, peer_s - 1, &fire) == peer_s;
}

/* The rule that explains why the peer answered `peer_s`; RULES if none does. The same code answers
 * by the peer's rule, so that an explanation is also an exact check. */
static peer_rule explain(const pawl_schedule *schedule, int64_t after_s, int64_t peer_s)
{
    pawl_occurrence fire;

    if (next_s(schedule, after_s, &fire) == peer_s)
        return SAME;
    bool long_gap = moved_over_a_day(schedule, &fire);
    for (int lost = 0; lost <= 1; lost++)
        for (int choice = 0; choice < 4; choice++) {
            pawl_schedule peer = *schedule;
            if (!by_rules(&peer, choice & 1, choice & 2, long_gap))
                continue;
            if (lost && loses_days(&peer, after_s, peer_s))
                return LOST_DAYS;
            if (!lost && next_s(&peer, after_s, &fire) == peer_s)
                return choice & 1 ? EITHER_DAY : long_gap ? LONG_GAP : SEVERAL_TIMES;
        }
    return RULES;
}

/* The text until the next bar or the end of the line; *at goes behind it. */
static bool read_part(const char **at, char *ret_text, size_t room)
{
    size_t size = strcspn(*at, "|\n");

    if (size == 0 || size >= room)
        return false;
    memcpy(ret_text, *at, size);
    ret_text[size] = '\0';
    *at += size + ((*at)[size] == '|');
    return true;
}

static bool read_case(const char *line, peer_case *c)
{
    char after[32];

    if (!read_part(&line, c->text, sizeof c->text) || !read_part(&line, c->zone, sizeof c->zone) ||
        !read_part(&line, after, sizeof after) || !read_part(&line, c->fires, sizeof c->fires))
        return false;
    c->after_s = strtoll(after, NULL, 10);
    return true;
}

static void compare_case(peer_case *c, tally *t)
{
    PAWLI_AUTO(pawl_schedule) schedule = NULL;
    pawl_schedule_options opts = PAWL_SCHEDULE_OPTIONS_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    int64_t after_s = c->after_s;
    char *rest = NULL;

    opts.zone = c->zone;
    if (pawl_schedule_parse(c->text, &opts, &schedule, &err) != PAWL_OK) {
        /* The peer returns no result instead; or days that fit both never come, and it takes one.
         */
        bool none = strcmp(c->fires, "-") == 0;
        if (!strstr(err.message, "never fire") || (!none && !strstr(c->text, "*/")))
            test_fail("'%s' is refused: %s", c->text, err.message);
        t->answers[none ? SAME : EITHER_DAY]++;
        return;
    }
    for (char *more = strtok_r(c->fires, ",", &rest); more; more = strtok_r(NULL, ",", &rest)) {
        int64_t peer_s = *more == '-' ? -1 : after_s + strtoll(more, NULL, 10);
        peer_rule rule = explain(schedule, after_s, peer_s);
        pawl_occurrence fire;
        if (rule == RULES)
            test_fail("'%s' in %s after %" PRId64 ": %" PRId64 ", the peer says %" PRId64, c->text,
                      c->zone, after_s, next_s(schedule, after_s, &fire), peer_s);
        t->answers[rule]++;
        after_s = peer_s;
    }
}

PAWL_TEST(schedules_fire_as_in_another_implementation)
{
    const char *path = getenv("PAWL_SCHEDULE_CASES");
    FILE *file = path ? fopen(path, "re") : NULL;
    char line[LINE_SIZE];
    tally t = {0};

    if (!file)
        test_fail("PAWL_SCHEDULE_CASES must name the file of cases");
    while (fgets(line, sizeof line, file)) {
        peer_case c;
        if (line[0] == '#')
            continue;
        if (!read_case(line, &c))
            test_fail("not a case: %s", line);
        compare_case(&c, &t);
        t.cases++;
    }
    fclose(file);
    printf("# %ld cases: answers that", t.cases);
    for (int rule = 0; rule < RULES; rule++)
        printf("%s %s %ld", rule ? "," : "", rule_names[rule], t.answers[rule]);
    puts("");
    assert_true(t.cases >= 1000 && t.answers[SAME] > t.cases);
}
