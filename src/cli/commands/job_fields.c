/* src/cli/commands/job_fields.c - a job as JSON, as a row of a table, and in full. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd_job.h"

#define FIRES 3
#define WORDS_SIZE 256
/* Below this width a row has no room for the time zone. */
#define NARROW 120

/* ---- what a job is defined as ---- */

static const char *misfire_words(const pawl_job_definition *is, char ret_words[WORDS_SIZE])
{
    char late[CLI_WHEN_SIZE];

    cli_span_text(is->misfire_grace_ms, late);
    if (is->misfire == PAWL_MISFIRE_ONCE)
        snprintf(ret_words, WORDS_SIZE, "of occurrences missed by more than %s, the latest runs",
                 late);
    else if (is->misfire == PAWL_MISFIRE_ALL)
        snprintf(ret_words, WORDS_SIZE,
                 "of occurrences missed by more than %s, the latest %d run, oldest first", late,
                 is->misfire_cap);
    else
        snprintf(ret_words, WORDS_SIZE, "occurrences missed by more than %s do not run", late);
    return ret_words;
}

static const char *overlap_words(pawl_overlap overlap)
{
    if (overlap == PAWL_OVERLAP_ALLOW)
        return "runs may overlap";
    if (overlap == PAWL_OVERLAP_QUEUE)
        return "while a run is unfinished, one occurrence is queued and others are skipped";
    return "while a run is unfinished, occurrences are skipped";
}

CLI_FIELD_READ(pawl_job_definition, read_type, cli_value_text(to, pawl_type_name(it->type)));
CLI_FIELD_READ(pawl_job_definition, read_misfire,
               cli_value_text(to, pawl_misfire_name(it->misfire)));
CLI_FIELD_READ(pawl_job_definition, read_overlap,
               cli_value_text(to, pawl_overlap_name(it->overlap)));
CLI_FIELD_READ(pawl_job_definition, read_overlap_words,
               cli_value_format(to, CLI_PLAIN, "%s: %s", pawl_overlap_name(it->overlap),
                                overlap_words(it->overlap)));

static void set_definition_headers(json_t *object, const void *record)
{
    const pawl_job_definition *is = record;

    cli_json_object(object, "headers", is->headers);
}

CLI_FIELD_READ(pawl_job_definition, read_max_attempts, cli_value_positive(to, it->max_attempts));
CLI_FIELD_READ(pawl_job_definition, read_attempts_per_run,
               if (it->max_attempts > 0)
                   cli_value_format(to, CLI_PLAIN, "%d per run", it->max_attempts));
CLI_FIELD_READ(pawl_job_definition, read_misfire_words, char words[WORDS_SIZE];
               cli_value_format(to, CLI_PLAIN, "%s: %s", pawl_misfire_name(it->misfire),
                                misfire_words(it, words)));
CLI_FIELD_READ(pawl_job_definition, read_lease_words,
               cli_value_format(to, CLI_PLAIN, "%s, renewed every %s",
                                cli_span_text(it->lease_ms, CLI_ROOM),
                                cli_span_text(it->heartbeat_ms, CLI_ROOM)));
CLI_FIELD_READ(pawl_job_definition, read_timeout_words,
               if (it->timeout_ms > 0) cli_value_format(to, CLI_PLAIN, "%s per attempt",
                                                        cli_span_text(it->timeout_ms, CLI_ROOM)));
CLI_FIELD_READ(pawl_job_definition, read_ttl_words,
               if (it->ttl_ms > 0)
                   cli_value_format(to, CLI_PLAIN, "a run that has not started within %s expires",
                                    cli_span_text(it->ttl_ms, CLI_ROOM)));
CLI_FIELD_READ(pawl_job_definition, read_backoff_words,
               if (it->backoff.base_ms > 0)
                   cli_value_format(to, CLI_PLAIN, "%s, doubled up to %s",
                                    cli_span_text(it->backoff.base_ms, CLI_ROOM),
                                    cli_span_text(it->backoff.max_ms, CLI_ROOM)));
CLI_FIELD_READ(pawl_job_definition, read_history_words,
               cli_value_format(to, CLI_PLAIN, "the newest %d runs and skips%s%s", it->keep_runs,
                                it->keep_ms > 0 ? ", for " : "",
                                it->keep_ms > 0 ? cli_span_text(it->keep_ms, CLI_ROOM) : ""));

#define DEFINITION(kind, member) CLI_FIELD_##kind, offsetof(pawl_job_definition, member)
static const cli_field definition_fields[] = {
    {"topic", DEFINITION(TEXT, topic), .details = {1, "topic"}},
    {"type", .read = read_type, .details = {2, "type"}},
    {"destination", DEFINITION(TEXT, destination), .details = {3, "destination"}},
    {"headers", DEFINITION(TEXT, headers), .set = set_definition_headers,
     .details = {4, "headers"}},
    {"correlation_id", DEFINITION(TEXT, correlation_id), .details = {5, "correlation"}},
    {"priority", DEFINITION(INT, priority), .details = {6, "priority"}},
    {"max_attempts", .read = read_max_attempts},
    {NULL, .read = read_attempts_per_run, .details = {7, "attempts"}},
    {"retry_base_ms", DEFINITION(LIMIT, backoff.base_ms)},
    {"retry_max_ms", DEFINITION(LIMIT, backoff.max_ms)},
    {"retry_jitter_ms", DEFINITION(LIMIT, backoff.jitter_ms)},
    {NULL, .read = read_backoff_words, .details = {13, "backoff"}},
    {"misfire", .read = read_misfire},
    {NULL, .read = read_misfire_words, .details = {8, "misfire"}},
    {"misfire_cap", DEFINITION(INT, misfire_cap)},
    {"misfire_grace_ms", DEFINITION(INT64, misfire_grace_ms)},
    {"overlap", .read = read_overlap},
    {NULL, .read = read_overlap_words, .details = {9, "overlap"}},
    {"jitter_ms", DEFINITION(INT64, jitter_ms)},
    {"ttl_ms", DEFINITION(LIMIT, ttl_ms)},
    {NULL, .read = read_ttl_words, .details = {12, "ttl"}},
    {"run_timeout_ms", DEFINITION(LIMIT, timeout_ms)},
    {NULL, .read = read_timeout_words, .details = {11, "run timeout"}},
    {"lease_ms", DEFINITION(INT64, lease_ms)},
    {NULL, .read = read_lease_words, .details = {10, "lease"}},
    {"heartbeat_ms", DEFINITION(INT64, heartbeat_ms)},
    {"keep_runs", DEFINITION(INT, keep_runs)},
    {"keep_ms", DEFINITION(LIMIT, keep_ms)},
    {NULL, .read = read_history_words, .details = {14, "history"}},
};
static const cli_noun definition_noun = CLI_NOUN(definition_fields);

static void set_json_definition(json_t *object, const void *record)
{
    const pawl_job *job = record;

    cli_noun_set_json(&definition_noun, object, job->definition);
}

static void print_definition(const void *record, pawl_wall now)
{
    const pawl_job *job = record;

    cli_noun_details(&definition_noun, job->definition, now);
}

/* ---- a job ---- */

static void set_json_fires(json_t *object, const void *record)
{
    const pawl_job *job = record;
    PAWLI_AUTO(pawl_schedule) schedule = NULL;
    pawl_occurrence fires[FIRES];
    size_t count = cli_job_next_fires(job, fires, FIRES, &schedule);
    json_t *array = json_array();

    cli_json_text(object, "description", schedule ? pawl_schedule_describe(schedule) : NULL);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, cli_job_fire_json(&fires[i]));
    json_object_set_new(object, "next_occurrences", array);
}

static void print_job_fires(const void *record, pawl_wall now)
{
    const pawl_job *job = record;
    PAWLI_AUTO(pawl_schedule) schedule = NULL;
    pawl_occurrence fires[FIRES];
    size_t count = cli_job_next_fires(job, fires, FIRES, &schedule);
    char local[CLI_FIRE_SIZE];
    char when[CLI_WHEN_SIZE];

    if (schedule)
        cli_details_field("meaning", CLI_PLAIN, "%s", pawl_schedule_describe(schedule));
    for (size_t i = 0; i < count; i++)
        cli_details_field(i == 0 ? "next" : "", CLI_PLAIN, "%s, %s",
                          cli_job_fire_text(&fires[i], local),
                          fires[i].utc_offset_s == 0 ? cli_when_relative(fires[i].at, now, when)
                                                     : cli_when_both(fires[i].at, now, when));
    if (count == 0 && !job->enabled)
        cli_details_field("next", CLI_PLAIN, "none, it is disabled");
    else if (count == 0 && !job->problem)
        cli_details_field("next", CLI_PLAIN, "not known until the last run starts");
    if (job->definition->jitter_ms > 0)
        cli_details_field("jitter", CLI_PLAIN, "each run is delayed by a random time up to %s",
                          cli_span_text(job->definition->jitter_ms, when));
    if (count > 0 && job->definition->jitter_ms > 0)
        cli_details_time("next due", job->next_due_at, now);
}

CLI_FIELD_READ(pawl_job, read_schedule, cli_value_text(to, it->definition->schedule));
CLI_FIELD_READ(pawl_job, read_zone, cli_value_text(to, it->definition->zone));

/* "0 6 * * * (Europe/Berlin)" */
static void read_schedule_in_zone(const void *record, pawl_wall now, cli_value *to)
{
    const pawl_job_definition *is = ((const pawl_job *)record)->definition;

    (void)now;
    cli_value_text(to, is->schedule);
    if (strcmp(is->zone, "UTC") != 0)
        cli_value_format(to, CLI_PLAIN, "%s (%s)", is->schedule, is->zone);
}

static void read_schedule_cell(const void *record, pawl_wall now, cli_value *to)
{
    size_t width = cli_width(stdout);

    if (width > 0 && width < NARROW)
        read_schedule(record, now, to);
    else
        read_schedule_in_zone(record, now, to);
}

CLI_FIELD_READ(pawl_job, read_job_name, cli_value_colored(to, CLI_BOLD, it->name));
CLI_FIELD_READ(pawl_job, read_job_problem, cli_value_colored(to, CLI_RED, it->problem));
CLI_FIELD_READ(pawl_job, read_job_state,
               cli_value_colored(to, it->enabled ? CLI_GREEN : CLI_YELLOW,
                                 it->enabled ? "enabled" : "disabled"));

static void read_next_due_cell(const void *record, pawl_wall now, cli_value *to)
{
    const pawl_job *job = record;

    (void)now;
    cli_value_time(to, job->next_due_at);
    if (to->kind == CLI_FIELD_NONE)
        cli_value_format(to, CLI_YELLOW, job->enabled ? "-" : "disabled");
}

CLI_FIELD_READ(pawl_job, read_last_run_state,
               if (it->last_run_at.us != PAWL_TIME_UNSET.us)
                   cli_value_colored(to, cli_run_color(it->last_run_state),
                                     pawl_run_state_name(it->last_run_state)));

static void read_last_run_words(const void *record, pawl_wall now, cli_value *to)
{
    const pawl_job *job = record;

    if (job->last_run_at.us == PAWL_TIME_UNSET.us)
        cli_value_text(to, "none has started yet");
    else
        cli_value_format(to, cli_run_color(job->last_run_state), "%s, %s",
                         pawl_run_state_name(job->last_run_state),
                         cli_when_both(job->last_run_at, now, CLI_ROOM));
}

CLI_FIELD_READ(pawl_job, read_unfinished_words,
               cli_value_format(to, CLI_PLAIN, "%d run%s", it->unfinished,
                                it->unfinished == 1 ? "" : "s"));

#define JOB(kind, member) CLI_FIELD_##kind, offsetof(pawl_job, member)
static const cli_field job_fields[] = {
    {"id", JOB(INT64, id)},
    {"name", JOB(TEXT, name), .column = {1, "JOB"}},
    {NULL, .read = read_job_name, .details = {1, "job"}},
    {"schedule", .read = read_schedule},
    {"zone", .read = read_zone},
    {NULL, .read = read_schedule_in_zone, .details = {2, "schedule"}},
    {NULL, .read = read_schedule_cell, .column = {2, "SCHEDULE"}},
    {"enabled", JOB(BOOL, enabled)},
    {NULL, .read = read_job_state, .details = {5, "state"}},
    {"problem", .read = read_job_problem, .details = {4, "problem"}, .column = {6, "PROBLEM"}},
    {"next_occurrence_at", JOB(TIME, next_occurrence_at)},
    {"next_due_at", JOB(TIME, next_due_at)},
    {NULL, .read = read_next_due_cell, .column = {3, "NEXT"}},
    {"last_occurrence_at", JOB(TIME, last_occurrence_at)},
    {"last_run_at", JOB(TIME, last_run_at), .column = {4, "LAST RUN", false, "-"}},
    {"last_run_state", .read = read_last_run_state, .column = {5, "STATE", false, "-"}},
    {NULL, .read = read_last_run_words, .details = {6, "last run"}},
    {"unfinished", JOB(INT, unfinished)},
    {NULL, .read = read_unfinished_words, .details = {7, "unfinished"}},
    {NULL, .set = set_json_fires, .print = print_job_fires, .details = {3, "next"}},
    {NULL, .set = set_json_definition, .print = print_definition, .details = {8, "definition"}},
    {"created_at", JOB(TIME, created_at), .details = {9, "created"}},
    {"updated_at", JOB(TIME, updated_at), .details = {10, "changed"}},
};
const cli_noun cli_job_noun = CLI_NOUN(job_fields);
