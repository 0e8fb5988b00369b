/* src/cli/commands/job_schedule.c - pawl job next, and when a schedule fires. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd_job.h"
#include "console.h"
#include "fail.h"
#include "scope.h"
#include "units.h"
#include "platform.h"

#define NOTE_SIZE 160

static const char *format_local_time(const pawl_local_time *l, char ret_text[CLI_WHEN_SIZE])
{
    snprintf(ret_text, CLI_WHEN_SIZE, "%04d-%02d-%02d %02d:%02d:%02d", l->year, l->month, l->day,
             l->hour, l->minute, l->second);
    return ret_text;
}

/* What a clock change did to this fire; "" if nothing. */
static const char *clock_change_note(const pawl_occurrence *fire, char ret_text[NOTE_SIZE])
{
    const char *times = fire->skipped == 1 ? "time" : "times";
    char written[CLI_WHEN_SIZE];

    ret_text[0] = '\0';
    if (fire->kind == PAWL_OCCURRENCE_MOVED && fire->skipped > 0)
        snprintf(ret_text, NOTE_SIZE,
                 "moved: a clock change skips %s and %" PRId64 " more %s, which fire together",
                 format_local_time(&fire->written, written), fire->skipped, times);
    else if (fire->kind == PAWL_OCCURRENCE_MOVED)
        snprintf(ret_text, NOTE_SIZE, "moved: a clock change skips %s",
                 format_local_time(&fire->written, written));
    else if (fire->skipped > 0)
        snprintf(ret_text, NOTE_SIZE, "after %" PRId64 " %s that a clock change skips",
                 fire->skipped, times);
    else if (fire->kind == PAWL_OCCURRENCE_ONCE)
        snprintf(ret_text, NOTE_SIZE,
                 "occurs twice because of a clock change, fires only this time");
    else if (fire->kind == PAWL_OCCURRENCE_AGAIN)
        snprintf(ret_text, NOTE_SIZE, "repeated by a clock change");
    return ret_text;
}

static const char *fire_kind_name(pawl_occurrence_kind kind)
{
    static const char *const names[] = {"plain", "moved", "once", "again"};

    return (size_t)kind < PAWLI_COUNT(names) ? names[kind] : "unknown";
}

json_t *cli_job_fire_json(const pawl_occurrence *fire)
{
    json_t *object = json_object();
    int32_t minutes = abs(fire->utc_offset_s) / 60;
    char when[CLI_WHEN_SIZE];
    char local[CLI_WHEN_SIZE + 16];

    cli_json_time(object, "at", fire->at);
    snprintf(local, sizeof local, "%s%c%02d:%02d", format_local_time(&fire->local, when),
             fire->utc_offset_s < 0 ? '-' : '+', minutes / 60, minutes % 60);
    local[10] = 'T';
    cli_json_text(object, "local", local);
    cli_json_text(object, "abbreviation", fire->abbreviation);
    cli_json_text(object, "kind", fire_kind_name(fire->kind));
    format_local_time(&fire->written, when);
    when[10] = 'T';
    cli_json_text(object, "written", when);
    cli_json_number(object, "skipped", fire->skipped);
    return object;
}

const char *cli_job_fire_text(const pawl_occurrence *fire, char ret_text[CLI_FIRE_SIZE])
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    char local[CLI_WHEN_SIZE];

    snprintf(ret_text, CLI_FIRE_SIZE, "%s %s %s", days[fire->local.weekday],
             format_local_time(&fire->local, local), fire->abbreviation);
    return ret_text;
}

static cli_table *new_fire_table(void)
{
    static const cli_column columns[] = {{"LOCAL", false}, {"UTC", false}, {"", false}};

    return cli_table_new(columns, PAWLI_COUNT(columns));
}

static void add_fire_row(cli_table *table, const pawl_occurrence *fire)
{
    char local[CLI_FIRE_SIZE];
    char text[NOTE_SIZE];

    clock_change_note(fire, text);
    cli_table_cell(table, CLI_PLAIN, "%s", cli_job_fire_text(fire, local));
    cli_table_cell(table, CLI_DIM, "%s", cli_when_absolute(fire->at, CLI_ROOM));
    cli_table_cell(table, text[0] ? CLI_YELLOW : CLI_PLAIN, "%s", text);
}

/* A time after which the next fire is `occurrence` itself. */
static bool just_before_occurrence(const pawl_schedule *schedule, pawl_wall occurrence,
                                   pawl_wall *ret_before)
{
    pawl_error ignored = PAWL_ERROR_INIT;
    pawl_occurrence later;

    ret_before->us = occurrence.us - 1;
    if (pawl_schedule_kind_of(schedule) != PAWL_SCHEDULE_FROM_START)
        return true;
    if (pawl_schedule_next(schedule, occurrence, &later, &ignored) != PAWL_OK)
        return false;
    ret_before->us = occurrence.us - (later.at.us - occurrence.us);
    return true;
}

size_t cli_job_next_fires(const pawl_job *job, pawl_occurrence *ret_fires, size_t count,
                          pawl_schedule **ret_schedule)
{
    pawl_schedule_options options = PAWL_SCHEDULE_OPTIONS_INIT;
    pawl_error ignored = PAWL_ERROR_INIT;
    size_t found = 0;
    pawl_wall after;

    options.zone = job->definition->zone;
    options.anchor = job->next_occurrence_at; /* one of those that "every D" counts */
    if (pawl_schedule_parse(job->definition->schedule, &options, ret_schedule, &ignored) !=
        PAWL_OK) {
        *ret_schedule = NULL;
        return 0;
    }
    if (job->next_occurrence_at.us == PAWL_TIME_UNSET.us ||
        !just_before_occurrence(*ret_schedule, job->next_occurrence_at, &after))
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

#define COUNT_DEFAULT 10

/* The schedule may come as one argument, or as the words of one that was not quoted. */
static pawl_status read_schedule_text(const cli_args *args, char ret_text[PAWL_SCHEDULE_MAX + 2],
                                      pawl_error *err)
{
    size_t used = 0;

    if (args->words.count < 1)
        return pawli_fail(err, PAWL_E_INVALID,
                          "no schedule given; for example pawl job next '30 2 * * MON-FRI'");
    for (size_t i = 0; i < args->words.count; i++) {
        int more = snprintf(ret_text + used, PAWL_SCHEDULE_MAX + 2 - used, "%s%s", i > 0 ? " " : "",
                            args->words.items[i]);
        used += (size_t)more;
        if (used > PAWL_SCHEDULE_MAX)
            return pawli_fail(err, PAWL_E_INVALID,
                              "a schedule has at most %d characters; put it into quotes, or the "
                              "shell replaces its stars by names of files",
                              PAWL_SCHEDULE_MAX);
    }
    return PAWL_OK;
}

/* Nothing here touches a database, so that this machine's clock is the one to ask. */
static pawl_status read_start_time(const cli_job_settings *own, pawl_wall *ret_from,
                                   pawl_error *err)
{
    cli_when when = {true, 0, PAWL_TIME_UNSET};
    pawl_status st = PAWL_OK;

    if (own->from)
        st = cli_when_parse("--from", own->from, &when, err);
    if (st != PAWL_OK)
        return st;
    ret_from->us = when.is_relative ? pawli_wall_now().us + when.span_ms * 1000 : when.at.us;
    return PAWL_OK;
}

static void print_schedule_heading(const pawl_schedule *schedule, const char *version)
{
    printf("%s%s%s\n", cli_style(stdout, CLI_BOLD), pawl_schedule_describe(schedule),
           cli_style(stdout, CLI_PLAIN));
    if (pawl_schedule_kind_of(schedule) != PAWL_SCHEDULE_CRON)
        puts("Intervals are elapsed time: clock changes do not affect them.");
    else if (pawl_schedule_keeps_rhythm(schedule))
        puts("When clocks change, its interval is kept: it does not fire at skipped times and "
             "fires twice at repeated ones.");
    else
        puts("When clocks change, it fires at the change for a skipped time, and once for a "
             "repeated one.");
    printf("Time zone data: %s\n\n", version);
}

/* Fill the table or the array with the next fires. */
static pawl_status add_fires(const pawl_schedule *schedule, pawl_wall after, int64_t count,
                             cli_table *table, json_t *array, pawl_error *err)
{
    pawl_status st = PAWL_OK;

    for (int64_t i = 0; i < count && st == PAWL_OK; i++) {
        pawl_occurrence fire;
        st = pawl_schedule_next(schedule, after, &fire, err);
        if (st != PAWL_OK)
            break;
        if (array)
            json_array_append_new(array, cli_job_fire_json(&fire));
        else
            add_fire_row(table, &fire);
        after = fire.at;
    }
    return st == PAWL_E_EMPTY ? PAWL_OK : st; /* fewer, at the end of the calendar */
}

static pawl_status print_fires_json(const pawl_schedule *schedule, pawl_wall from, int64_t count,
                                    const char *version, pawl_error *err)
{
    json_t *object = json_object();
    json_t *fires = json_array();
    pawl_status st = add_fires(schedule, from, count, NULL, fires, err);

    cli_json_text(object, "schedule", pawl_schedule_text(schedule));
    cli_json_text(object, "zone", pawl_schedule_zone(schedule));
    cli_json_text(object, "description", pawl_schedule_describe(schedule));
    json_object_set_new(object, "keeps_rhythm", json_boolean(pawl_schedule_keeps_rhythm(schedule)));
    cli_json_text(object, "zone_data", version);
    cli_json_time(object, "from", from);
    json_object_set_new(object, "next_occurrences", fires);
    if (st == PAWL_OK)
        cli_json_print(stdout, object);
    else
        json_decref(object);
    return st;
}

pawl_status cli_job_next(const cli_args *args, pawl_store *store, pawl_error *err)
{
    const cli_job_settings *own = args->settings;
    int64_t count = own->count ? own->count : COUNT_DEFAULT;
    pawl_schedule_options opts = PAWL_SCHEDULE_OPTIONS_INIT;
    PAWLI_AUTO(pawl_schedule) schedule = NULL;
    char text[PAWL_SCHEDULE_MAX + 2];
    char version[PAWL_ZONE_VERSION_SIZE];
    pawl_wall from = PAWL_TIME_UNSET;
    pawl_status st = read_schedule_text(args, text, err);

    (void)store;
    if (st == PAWL_OK)
        st = read_start_time(own, &from, err);
    opts.zone = own->zone;
    opts.anchor = from;
    if (st == PAWL_OK)
        st = pawl_schedule_parse(text, &opts, &schedule, err);
    if (st != PAWL_OK)
        return st;
    pawl_zone_data_version(version);
    if (args->common.json)
        return print_fires_json(schedule, from, count, version, err);
    PAWLI_AUTO(cli_table) table = new_fire_table();
    st = add_fires(schedule, from, count, table, NULL, err);
    if (st != PAWL_OK)
        return st;
    print_schedule_heading(schedule, version);
    cli_table_print(table, stdout);
    return PAWL_OK;
}
