/* tests/fuzz/zone_fuzz.c - any bytes as a time zone: refused in words, or both directions agree. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "zone.h"

static void check_at(const pawli_zone *zone, int64_t utc_s)
{
    pawli_zone_period period;
    pawli_local found;
    int64_t local_s;

    pawli_zone_at(zone, utc_s, &period);
    if (period.begins_s > utc_s || period.ends_s <= utc_s || strlen(period.abbreviation) < 1)
        abort();
    local_s = utc_s + period.offset_s;
    pawli_zone_find(zone, local_s, &found);
    if (found.kind == PAWLI_LOCAL_GAP || found.first_s > utc_s)
        abort();
    if (pawli_zone_reach(zone, local_s) > utc_s || pawli_zone_highest(zone, utc_s) < local_s ||
        pawli_zone_reach(zone, pawli_zone_highest(zone, utc_s) + 1) <= utc_s)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pawli_zone *zone = NULL;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st = pawli_zone_decode("Fuzz", data, size, &zone, &err);
    pawli_zone_period period;
    int64_t at_s = INT64_C(-10000000000);

    if (st != PAWL_OK) {
        if ((st != PAWL_E_CORRUPT && st != PAWL_E_UNSUPPORTED) || strlen(err.message) < 10 || zone)
            abort();
        return 0;
    }
    for (int i = 0; i < 20 && at_s < INT64_C(100000000000); i++) {
        check_at(zone, at_s);
        check_at(zone, at_s + 1800);
        pawli_zone_at(zone, at_s, &period);
        at_s = i % 5 == 4 ? at_s + INT64_C(1000000000) : period.ends_s;
    }
    pawli_zone_unref(zone);
    return 0;
}
