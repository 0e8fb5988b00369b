/* src/cli/job_next.c - pawl job next: what a schedule means, and when it fires. */
#include <stdio.h>
#include <time.h>

#include "fail.h"
#include "job.h"
#include "when.h"

#define COUNT_DEFAULT 10

/* The schedule may come as one argument, or as the words of one that was not quoted. */
static pawl_status schedule_text(const cli_args *args, char ret_text[PAWL_SCHEDULE_MAX + 2],
                                 pawl_error *err)
{
    size_t used = 0;

    if (args->words.count < 1)
        return cli_fail(err, PAWL_E_INVALID,
                        "which schedule? For example pawl job next '30 2 * * MON-FRI'");
    for (size_t i = 0; i < args->words.count; i++) {
        int more = snprintf(ret_text + used, PAWL_SCHEDULE_MAX + 2 - used, "%s%s", i > 0 ? " " : "",
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
static pawl_status start_time(const cli_job_settings *own, pawl_wall *ret_from, pawl_error *err)
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
            json_array_append_new(array, cli_job_fire_json(&fire));
        else
            cli_job_fire_row(table, &fire);
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

pawl_status cli_job_next(const cli_args *args, pawl_store *store, pawl_error *err)
{
    const cli_job_settings *own = args->settings;
    int64_t count = own->count ? own->count : COUNT_DEFAULT;
    pawl_schedule_options opts = PAWL_SCHEDULE_OPTIONS_INIT;
    CLI_AUTO(pawl_schedule) schedule = NULL;
    char text[PAWL_SCHEDULE_MAX + 2];
    char version[PAWL_ZONE_VERSION_SIZE];
    pawl_wall from = PAWL_NEVER;
    pawl_status st = schedule_text(args, text, err);

    (void)store;
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
        return print_json(schedule, from, count, version, err);
    CLI_AUTO(cli_table) table = cli_job_fire_table();
    st = add_fires(schedule, from, count, table, NULL, err);
    if (st != PAWL_OK)
        return st;
    print_heading(schedule, version);
    cli_table_print(table, stdout);
    return PAWL_OK;
}
