/* src/base/zone.c - what clocks show where, and when: looking it up in a loaded zone. */
#include "zone.h"

#include <stdio.h>
#include <string.h>

#include "civil.h"
#include "zone_private.h"

/* The years 1 to 9999 with some room: no sum of these overflows. */
#define FIRST_S (INT64_C(-62200000000))
#define LAST_S (INT64_C(253500000000))
/* More than any local time differs from UTC. */
#define REACH_S (INT64_C(26) * PAWLI_HOUR_S)

pawli_zone *pawli_zone_new(const char *name, size_t change_count)
{
    size_t size = sizeof(pawli_zone) + change_count * (sizeof(int64_t) + sizeof(uint8_t));
    pawli_zone *zone = calloc(1, size);

    if (!zone)
        return NULL;
    atomic_init(&zone->users, 1);
    zone->change_count = change_count;
    zone->changes = (int64_t *)(zone + 1);
    zone->change_types = (uint8_t *)(zone->changes + change_count);
    snprintf(zone->name, sizeof zone->name, "%s", name);
    return zone;
}

pawli_zone *pawli_zone_ref(pawli_zone *zone)
{
    atomic_fetch_add_explicit(&zone->users, 1, memory_order_relaxed);
    return zone;
}

void pawli_zone_unref(pawli_zone *zone)
{
    if (zone && atomic_fetch_sub_explicit(&zone->users, 1, memory_order_acq_rel) == 1)
        free(zone);
}

const char *pawli_zone_name(const pawli_zone *zone)
{
    return zone->name;
}

/* How many changes happened until then, the instant included. */
static size_t changes_until(const pawli_zone *zone, int64_t utc_s)
{
    size_t low = 0;
    size_t high = zone->change_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->changes[middle] <= utc_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void pawli_zone_at(const pawli_zone *zone, int64_t utc_s, pawli_zone_period *ret_period)
{
    int64_t at_s = utc_s < FIRST_S ? FIRST_S : utc_s > LAST_S ? LAST_S : utc_s;
    size_t made = changes_until(zone, at_s);
    int64_t begins_s = made > 0 ? zone->changes[made - 1] : INT64_MIN;
    const pawli_zone_type *type;

    if (made == zone->change_count && zone->has_rule) {
        pawli_zone_rule_at(&zone->rule, at_s, ret_period);
        if (ret_period->begins_s < begins_s)
            ret_period->begins_s = begins_s;
        return;
    }
    type = &zone->types[made > 0 ? zone->change_types[made - 1] : 0];
    *ret_period =
        (pawli_zone_period){begins_s, made < zone->change_count ? zone->changes[made] : INT64_MAX,
                            type->offset_s, type->is_dst, zone->text + type->abbreviation};
}

/* The instant within the period at which the clock shows exactly that. */
static bool zone_shows(const pawli_zone_period *period, int64_t local_s, int64_t *ret_utc_s)
{
    *ret_utc_s = local_s - period->offset_s;
    return *ret_utc_s >= period->begins_s && *ret_utc_s < period->ends_s;
}

/* Step to the period after this one; false if that begins later than any clock that shows
 * `local_s` could. */
static bool zone_step(const pawli_zone *zone, int64_t local_s, pawli_zone_period *period)
{
    if (period->ends_s > local_s + REACH_S)
        return false;
    pawli_zone_at(zone, period->ends_s, period);
    return true;
}

int64_t pawli_zone_reach(const pawli_zone *zone, int64_t local_s)
{
    pawli_zone_period period;
    int64_t utc_s;

    pawli_zone_at(zone, local_s - REACH_S, &period);
    do {
        utc_s = local_s - period.offset_s;
        if (utc_s < period.begins_s)
            utc_s = period.begins_s;
        if (utc_s < period.ends_s)
            break;
    } while (zone_step(zone, local_s, &period));
    return utc_s;
}

int64_t pawli_zone_highest(const pawli_zone *zone, int64_t utc_s)
{
    pawli_zone_period period;
    int64_t highest_s;

    pawli_zone_at(zone, utc_s, &period);
    highest_s = utc_s + period.offset_s;
    while (period.begins_s > utc_s - 2 * REACH_S) {
        int64_t last_s = period.begins_s - 1;
        pawli_zone_at(zone, last_s, &period);
        if (last_s + period.offset_s > highest_s)
            highest_s = last_s + period.offset_s;
    }
    return highest_s;
}

void pawli_zone_find(const pawli_zone *zone, int64_t local_s, pawli_local *ret_local)
{
    pawli_local found = {PAWLI_LOCAL_GAP, 0, 0, local_s, local_s};
    pawli_zone_period period;
    int64_t utc_s;
    int times = 0;

    pawli_zone_at(zone, local_s - REACH_S, &period);
    do {
        if (!zone_shows(&period, local_s, &utc_s))
            continue;
        times++;
        if (times == 1)
            found.first_s = utc_s;
        if (times <= 2)
            found.second_s = utc_s;
    } while (zone_step(zone, local_s, &period));
    if (times > 0) {
        found.kind = times == 1 ? PAWLI_LOCAL_UNIQUE : PAWLI_LOCAL_OVERLAP;
    } else {
        found.first_s = found.second_s = pawli_zone_reach(zone, local_s);
        pawli_zone_at(zone, found.first_s, &period);
        found.gap_ends_s = found.first_s + period.offset_s;
        pawli_zone_at(zone, found.first_s - 1, &period);
        found.gap_begins_s = found.first_s + period.offset_s;
    }
    *ret_local = found;
}
