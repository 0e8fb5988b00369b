/* tests/fuzz/schedule_fuzz.c - any text as a schedule: refused in words, or it fires. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "schedule.h"

#define US INT64_C(1000000)

static const char *const zones[] = {"UTC", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia"};
/* A plain day, hours before clocks change in Berlin, hours before Apia lost a day, far away. */
static const int64_t times_s[] = {1767225600, 1774700000, 1325220000, INT64_C(4070900000)};

static void check_fires(const pawl_schedule *schedule, pawl_wall after)
{
    for (int i = 0; i < 3; i++) {
        pawl_occurrence fire;
        pawl_occurrence back;
        if (pawl_schedule_next(schedule, after, &fire, NULL) != PAWL_OK)
            abort();
        if (fire.at.us <= after.us || fire.skipped < 0)
            abort();
        if (pawl_schedule_kind_of(schedule) != PAWL_SCHEDULE_FROM_START &&
            (pawl_schedule_previous(schedule, (pawl_wall){fire.at.us + 1}, &back, NULL) !=
                 PAWL_OK ||
             back.at.us != fire.at.us))
            abort();
        after = fire.at;
    }
}

/* The first byte chooses the zone, the rest is the text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pawl_schedule_options opts = PAWL_SCHEDULE_OPTIONS_INIT;
    pawl_schedule *schedule = NULL;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st;
    char *text;

    if (size == 0)
        return 0;
    text = malloc(size);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1); /* no terminator follows the input: not for strndup() */
    text[size - 1] = '\0';
    opts.zone = zones[data[0] % PAWLI_COUNT(zones)];
    st = pawl_schedule_parse(text, &opts, &schedule, &err);
    if (st == PAWL_OK) {
        if (strlen(pawl_schedule_describe(schedule)) < 5)
            abort();
        check_fires(schedule, (pawl_wall){times_s[data[0] / 4 % PAWLI_COUNT(times_s)] * US});
        pawl_schedule_free(schedule);
    } else if (st != PAWL_E_INVALID || strlen(err.message) < 10 || schedule) {
        abort();
    }
    free(text);
    return 0;
}
