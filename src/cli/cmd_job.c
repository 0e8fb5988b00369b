/* src/cli/cmd_job.c - pawl job: recurring work. So far: what a schedule means and when it fires. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pawl/schedule.h>

#include "action.h"
#include "cli.h"
#include "fail.h"
#include "output.h"
#include "table.h"
#include "when.h"

CLI_AUTO_DEFINE(pawl_schedule, pawl_schedule_free);

#define NOTE_SIZE 160

typedef struct settings {
    const char *zone;
    const char *from;
    int64_t count;
} settings;

static const settings defaults = {NULL, NULL, 10};

typedef struct job_action {
    const char *name;
    pawl_status (*run)(const cli_args *args, pawl_error *err);
} job_action;

/* The schedule may come as one argument, or as the words of one that was not quoted. */
static pawl_status schedule_text(const cli_args *args, char ret_text[PAWL_SCHEDULE_MAX + 2],
                                 pawl_error *err)
{
    size_t used = 0;

    if (args->words.count < 2)
        return cli_fail(err, PAWL_E_INVALID,
                        "which schedule? For example pawl job next '30 2 * * MON-FRI'");
    for (size_t i = 1; i < args->words.count; i++) {
        int more = snprintf(ret_text + used, PAWL_SCHEDULE_MAX + 2 - used, "%s%s", i > 1 ? " " : "",
                            args->words.items[i]);
        used += (size_t)more;
        if (used > PAWL_SCHEDULE_MAX)
            return cli_fail(err, PAWL_E_INVALID,
                            "a schedule has at most %d characters; put it into quotes, or the "
                            "shell replaces its stars by names of files",
                            PAWL_SCHEDULE_MAX);
    }
    return PAWL_OK;
}

/* Nothing here touches a database, so that this machine's clock is the one to ask. */
static pawl_status start_time(const settings *own, pawl_wall *ret_from, pawl_error *err)
{
    cli_when when = {true, 0, PAWL_NEVER};
    struct timespec now;
    pawl_status st = PAWL_OK;

    if (own->from)
        st = cli_when_parse("--from", own->from, &when, err);
    if (st != PAWL_OK)
        return st;
    clock_gettime(CLOCK_REALTIME, &now);
    ret_from->us = when.is_relative
                       ? (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 + when.span_ms * 1000
                       : when.at.us;
    return PAWL_OK;
}

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

static json_t *fire_json(const pawl_fire *fire)
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

static void fire_row(cli_table *table, const pawl_fire *fire)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    char local[CLI_WHEN_SIZE];
    char utc[CLI_WHEN_SIZE];
    char text[NOTE_SIZE];

    note(fire, text);
    cli_table_cell(table, CLI_PLAIN, "%s %s %s", days[fire->local.weekday],
                   local_text(&fire->local, local), fire->abbreviation);
    cli_table_cell(table, CLI_DIM, "%s", cli_when_absolute(fire->at, utc));
    cli_table_cell(table, text[0] ? CLI_YELLOW : CLI_PLAIN, "%s", text);
}

static void print_heading(const pawl_schedule *schedule, const char *version)
{
    printf("%s%s%s\n", cli_style(stdout, CLI_BOLD), pawl_schedule_explain(schedule),
           cli_style(stdout, CLI_PLAIN));
    if (pawl_schedule_kind_of(schedule) != PAWL_SCHEDULE_CRON)
        puts("Intervals are real time: clock changes do not touch them.");
    else if (pawl_schedule_keeps_rhythm(schedule))
        puts("When clocks change, its rhythm goes on: times that are skipped do not fire, times "
             "that come twice fire twice.");
    else
        puts("When clocks change, a time that is skipped fires at the change, one that comes "
             "twice fires once.");
    printf("Time zone data: %s\n\n", version);
}

/* Fill the table or the array with the next fires. */
static pawl_status add_fires(const pawl_schedule *schedule, pawl_wall after, int64_t count,
                             cli_table *table, json_t *array, pawl_error *err)
{
    pawl_status st = PAWL_OK;

    for (int64_t i = 0; i < count && st == PAWL_OK; i++) {
        pawl_fire fire;
        st = pawl_schedule_next(schedule, after, &fire, err);
        if (st != PAWL_OK)
            break;
        if (array)
            json_array_append_new(array, fire_json(&fire));
        else
            fire_row(table, &fire);
        after = fire.at;
    }
    return st == PAWL_E_EMPTY ? PAWL_OK : st; /* fewer, at the end of the calendar */
}

static pawl_status print_json(const pawl_schedule *schedule, pawl_wall from, int64_t count,
                              const char *version, pawl_error *err)
{
    json_t *object = json_object();
    json_t *fires = json_array();
    pawl_status st = add_fires(schedule, from, count, NULL, fires, err);

    cli_json_text(object, "schedule", pawl_schedule_text(schedule));
    cli_json_text(object, "zone", pawl_schedule_zone(schedule));
    cli_json_text(object, "words", pawl_schedule_explain(schedule));
    json_object_set_new(object, "keeps_rhythm", json_boolean(pawl_schedule_keeps_rhythm(schedule)));
    cli_json_text(object, "zone_data", version);
    cli_json_time(object, "from", from);
    json_object_set_new(object, "fires", fires);
    if (st == PAWL_OK)
        cli_json_print(stdout, object);
    else
        json_decref(object);
    return st;
}

static pawl_status run_next(const cli_args *args, pawl_error *err)
{
    static const cli_column columns[] = {{"LOCAL", false}, {"UTC", false}, {"", false}};
    const settings *own = args->settings;
    pawl_schedule_options opts = PAWL_SCHEDULE_OPTIONS_INIT;
    CLI_AUTO(pawl_schedule) schedule = NULL;
    char text[PAWL_SCHEDULE_MAX + 2];
    char version[PAWL_ZONE_VERSION_SIZE];
    pawl_wall from = PAWL_NEVER;
    pawl_status st = schedule_text(args, text, err);

    if (st == PAWL_OK)
        st = start_time(own, &from, err);
    opts.zone = own->zone;
    opts.anchor = from;
    if (st == PAWL_OK)
        st = pawl_schedule_parse(text, &opts, &schedule, err);
    if (st != PAWL_OK)
        return st;
    pawl_zone_data_version(version);
    if (args->common.json)
        return print_json(schedule, from, own->count, version, err);
    CLI_AUTO(cli_table) table = cli_table_new(columns, CLI_COUNT(columns));
    st = add_fires(schedule, from, own->count, table, NULL, err);
    if (st != PAWL_OK)
        return st;
    print_heading(schedule, version);
    cli_table_print(table, stdout);
    return PAWL_OK;
}

static const job_action actions[] = {{"next", run_next}};

static const char usage[] = "say 'pawl job next SCHEDULE'";

static pawl_status run(const cli_args *args, pawl_error *err)
{
    const job_action *action = CLI_ACTION(args, actions, usage, err);
    return action ? action->run(args, err) : PAWL_E_INVALID;
}

static const cli_option options[] = {
    {"tz", "ZONE", "the time zone, such as Europe/Berlin (default: UTC)", CLI_TEXT, 'z',
     offsetof(settings, zone), 0, 0},
    {"count", "N", "how many fires to show (default: 10)", CLI_NUMBER, 'n',
     offsetof(settings, count), 1, 1000},
    {"from", "TIME", "show those after this time (default: now)", CLI_TEXT, 0,
     offsetof(settings, from), 0, 0},
};

static const cli_exit exits[] = {{PAWL_E_NOT_FOUND, "there is no such time zone"}};

const cli_verb cli_verb_job = {
    .name = "job",
    .usage = "next SCHEDULE",
    .summary = "what a schedule means, and when it fires next",
    .about =
        "'job next' explains a schedule in words and shows when it fires next, in local time and "
        "in UTC; fires that a clock change moves, skips or repeats are marked. It needs no "
        "database. A schedule is a cron expression of 6 fields (second, minute, hour, day of the "
        "month, month, day of the week) or 5 (without seconds), with names, ranges, steps, lists, "
        "L, W and #; @hourly, @daily, @weekly, @monthly or @yearly; 'every 1h30m', counted from "
        "--from; or 'every 10m from start'. Put it into quotes.",
    .examples = "  pawl job next '30 2 * * MON-FRI' --tz Europe/Berlin\n"
                "  pawl job next '0 0 9 LW * *' -n 3 --from 2026-01-01T00:00Z\n"
                "  pawl job next 'every 90m' --json",
    .options = options,
    .option_count = CLI_COUNT(options),
    .defaults = &defaults,
    .settings_size = sizeof defaults,
    .exits = exits,
    .exit_count = CLI_COUNT(exits),
    .no_database = true,
    .run = run,
};
