/* src/base/zone_rule.h - the rule for future years, in the footer of a TZif file. */
#ifndef PAWLI_ZONE_RULE_H
#define PAWLI_ZONE_RULE_H

#include "zone.h"

typedef enum pawli_rule_kind {
    PAWLI_RULE_JULIAN,  /* day 1 .. 365, 29 February never counted */
    PAWLI_RULE_DAY,     /* day 0 .. 365, 29 February counted */
    PAWLI_RULE_WEEKDAY, /* month, week 1 .. 5 (5: the last), weekday */
} pawli_rule_kind;

typedef struct pawli_rule_date {
    pawli_rule_kind kind;
    int day;
    int month;
    int week;
    int weekday;
    int32_t time_s; /* after midnight, -167 .. 167 hours */
} pawli_rule_date;

typedef struct pawli_rule_time {
    int32_t offset_s;
    char abbreviation[PAWLI_ZONE_ABBREVIATION_SIZE];
} pawli_rule_time;

typedef struct pawli_zone_rule {
    pawli_rule_time standard;
    bool has_dst;
    pawli_rule_time dst;
    pawli_rule_date dst_begins; /* in standard time */
    pawli_rule_date dst_ends;   /* in daylight saving time */
} pawli_zone_rule;

/* A POSIX TZ string with RFC 8536's longer times: "CET-1CEST,M3.5.0,M10.5.0/3". */
bool pawli_zone_rule_parse(const char *text, size_t size, pawli_zone_rule *ret_rule);
/* The period of the rule that contains the instant. */
void pawli_zone_rule_at(const pawli_zone_rule *rule, int64_t utc_s, pawli_zone_period *ret_period);

#endif
