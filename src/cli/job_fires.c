/* src/cli/job_fires.c - when a schedule fires, for people and for programs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "job.h"
#include "when.h"

#define NOTE_SIZE 160

static const char *local_text(const pawl_local_time *l, char ret_text[CLI_WHEN_SIZE])
{
    snprintf(ret_text, CLI_WHEN_SIZE, "%04d-%02d-%02d %02d:%02d:%02d", l->year, l->month, l->day,
             l->hour, l->minute, l->second);
    return ret_text;
}

/* What a clock change did to this fire; "" if nothing. */
static const char *note(const pawl_fire *fire, char ret_text[NOTE_SIZE])
{
    const char *times = fire->skipped == 1 ? "time" : "times";
    char written[CLI_WHEN_SIZE];

    ret_text[0] = '\0';
    if (fire->kind == PAWL_FIRE_MOVED && fire->skipped > 0)
        snprintf(ret_text, NOTE_SIZE,
                 "moved: a clock change skips %s and %" PRId64 " more %s, which fire together",
                 local_text(&fire->written, written), fire->skipped, times);
    else if (fire->kind == PAWL_FIRE_MOVED)
        snprintf(ret_text, NOTE_SIZE, "moved: a clock change skips %s",
                 local_text(&fire->written, written));
    else if (fire->skipped > 0)
        snprintf(ret_text, NOTE_SIZE, "after %" PRId64 " %s that a clock change skips",
                 fire->skipped, times);
    else if (fire->kind == PAWL_FIRE_ONCE)
        snprintf(ret_text, NOTE_SIZE, "comes twice by a clock change, fires this time only");
    else if (fire->kind == PAWL_FIRE_AGAIN)
        snprintf(ret_text, NOTE_SIZE, "comes again by a clock change");
    return ret_text;
}

static const char *kind_name(pawl_fire_kind kind)
{
    static const char *const names[] = {"plain", "moved", "once", "again"};

    return (size_t)kind < CLI_COUNT(names) ? names[kind] : "unknown";
}

json_t *cli_job_fire_json(const pawl_fire *fire)
{
    json_t *object = json_object();
    int32_t minutes = abs(fire->utc_offset_s) / 60;
    char when[CLI_WHEN_SIZE];
    char local[CLI_WHEN_SIZE + 16];

    cli_json_time(object, "at", fire->at);
    snprintf(local, sizeof local, "%s%c%02d:%02d", local_text(&fire->local, when),
             fire->utc_offset_s < 0 ? '-' : '+', minutes / 60, minutes % 60);
    local[10] = 'T';
    cli_json_text(object, "local", local);
    cli_json_text(object, "abbreviation", fire->abbreviation);
    cli_json_text(object, "kind", kind_name(fire->kind));
    local_text(&fire->written, when);
    when[10] = 'T';
    cli_json_text(object, "written", when);
    cli_json_number(object, "skipped", fire->skipped);
    return object;
}

const char *cli_job_fire_text(const pawl_fire *fire, char ret_text[CLI_FIRE_SIZE])
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    char local[CLI_WHEN_SIZE];

    snprintf(ret_text, CLI_FIRE_SIZE, "%s %s %s", days[fire->local.weekday],
             local_text(&fire->local, local), fire->abbreviation);
    return ret_text;
}

cli_table *cli_job_fire_table(void)
{
    static const cli_column columns[] = {{"LOCAL", false}, {"UTC", false}, {"", false}};

    return cli_table_new(columns, CLI_COUNT(columns));
}

void cli_job_fire_row(cli_table *table, const pawl_fire *fire)
{
    char local[CLI_FIRE_SIZE];
    char utc[CLI_WHEN_SIZE];
    char text[NOTE_SIZE];

    note(fire, text);
    cli_table_cell(table, CLI_PLAIN, "%s", cli_job_fire_text(fire, local));
    cli_table_cell(table, CLI_DIM, "%s", cli_when_absolute(fire->at, utc));
    cli_table_cell(table, text[0] ? CLI_YELLOW : CLI_PLAIN, "%s", text);
}

/* A time after which the next fire is `slot` itself. */
static bool just_before(const pawl_schedule *schedule, pawl_wall slot, pawl_wall *ret_before)
{
    pawl_error ignored = PAWL_ERROR_INIT;
    pawl_fire later;

    ret_before->us = slot.us - 1;
    if (pawl_schedule_kind_of(schedule) != PAWL_SCHEDULE_FROM_START)
        return true;
    if (pawl_schedule_next(schedule, slot, &later, &ignored) != PAWL_OK)
        return false;
    ret_before->us = slot.us - (later.at.us - slot.us);
    return true;
}

size_t cli_job_next_fires(const pawl_job *job, pawl_fire *ret_fires, size_t count,
                          pawl_schedule **ret_schedule)
{
    pawl_schedule_options options = PAWL_SCHEDULE_OPTIONS_INIT;
    pawl_error ignored = PAWL_ERROR_INIT;
    size_t found = 0;
    pawl_wall after;

    options.zone = job->definition->zone;
    options.anchor = job->next_slot_at; /* one of those that "every D" counts */
    if (pawl_schedule_parse(job->definition->schedule, &options, ret_schedule, &ignored) !=
        PAWL_OK) {
        *ret_schedule = NULL;
        return 0;
    }
    if (job->next_slot_at.us == PAWL_NEVER.us ||
        !just_before(*ret_schedule, job->next_slot_at, &after))
        return 0;
    if (pawl_schedule_kind_of(*ret_schedule) == PAWL_SCHEDULE_FROM_START && count > 1)
        count = 1; /* the others depend on when it starts */
    for (; found < count; found++) {
        if (pawl_schedule_next(*ret_schedule, after, &ret_fires[found], &ignored) != PAWL_OK)
            break;
        after = ret_fires[found].at;
    }
    return found;
}
