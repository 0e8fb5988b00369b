/* src/cli/commands/job_view.c - jobs and their runs as rows, as JSON, and in full. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd_job.h"
#include "message_view.h"
#include "scope.h"

#define FIRES 3
#define WORDS_SIZE 256

char *cli_job_schedule_text(const pawl_job *job)
{
    const pawl_job_definition *is = job->definition;

    return strcmp(is->zone, "UTC") == 0 ? cli_copy(is->schedule)
                                        : cli_print("%s (%s)", is->schedule, is->zone);
}

/* ---- JSON ---- */

static void set_json_span(json_t *object, const char *key, int64_t ms)
{
    if (ms > 0)
        cli_json_number(object, key, ms);
    else
        json_object_set_new(object, key, json_null());
}

static void set_json_message(json_t *object, const pawl_job_definition *is)
{
    json_t *headers = is->headers ? json_loads(is->headers, 0, NULL) : NULL;

    cli_json_text(object, "topic", is->topic);
    cli_json_text(object, "type", pawl_type_name(is->type));
    cli_json_text(object, "destination", is->destination);
    json_object_set_new(object, "headers", headers ? headers : json_null());
    cli_json_text(object, "correlation_id", is->correlation_id);
    cli_json_number(object, "priority", is->priority);
    set_json_span(object, "max_attempts", is->max_attempts);
    set_json_span(object, "retry_base_ms", is->backoff.base_ms);
    set_json_span(object, "retry_max_ms", is->backoff.max_ms);
    set_json_span(object, "retry_jitter_ms", is->backoff.jitter_ms);
}

static void set_json_limits(json_t *object, const pawl_job_definition *is)
{
    cli_json_text(object, "misfire", pawl_misfire_name(is->misfire));
    cli_json_number(object, "misfire_cap", is->misfire_cap);
    cli_json_number(object, "misfire_grace_ms", is->misfire_grace_ms);
    cli_json_text(object, "overlap", pawl_overlap_name(is->overlap));
    cli_json_number(object, "jitter_ms", is->jitter_ms);
    set_json_span(object, "ttl_ms", is->ttl_ms);
    set_json_span(object, "run_timeout_ms", is->timeout_ms);
    cli_json_number(object, "lease_ms", is->lease_ms);
    cli_json_number(object, "heartbeat_ms", is->heartbeat_ms);
    cli_json_number(object, "keep_runs", is->keep_runs);
    set_json_span(object, "keep_ms", is->keep_ms);
}

static void set_json_fires(json_t *object, const pawl_job *job)
{
    PAWLI_AUTO(pawl_schedule) schedule = NULL;
    pawl_fire fires[FIRES];
    size_t count = cli_job_next_fires(job, fires, FIRES, &schedule);
    json_t *array = json_array();

    cli_json_text(object, "words", schedule ? pawl_schedule_explain(schedule) : NULL);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, cli_job_fire_json(&fires[i]));
    json_object_set_new(object, "fires", array);
}

json_t *cli_job_json(const pawl_job *job)
{
    const pawl_job_definition *is = job->definition;
    bool ran = job->last_run_at.us != PAWL_NEVER.us;
    json_t *object = json_object();

    cli_json_number(object, "id", job->id);
    cli_json_text(object, "name", job->name);
    cli_json_text(object, "schedule", is->schedule);
    cli_json_text(object, "zone", is->zone);
    json_object_set_new(object, "enabled", json_boolean(job->enabled));
    cli_json_text(object, "problem", job->problem);
    cli_json_time(object, "next_slot_at", job->next_slot_at);
    cli_json_time(object, "next_due_at", job->next_due_at);
    cli_json_time(object, "last_slot_at", job->last_slot_at);
    cli_json_time(object, "last_run_at", job->last_run_at);
    cli_json_text(object, "last_run_state", ran ? pawl_run_state_name(job->last_run_state) : NULL);
    cli_json_number(object, "unfinished", job->unfinished);
    set_json_fires(object, job);
    set_json_message(object, is);
    set_json_limits(object, is);
    cli_json_time(object, "created_at", job->created_at);
    cli_json_time(object, "updated_at", job->updated_at);
    return object;
}

/* ---- a page ---- */

static void print_job_state(const pawl_job *job, pawl_wall now)
{
    bool ran = job->last_run_at.us != PAWL_NEVER.us;
    char when[CLI_WHEN_SIZE];

    if (job->problem)
        cli_details_field("problem", CLI_RED, "%s", job->problem);
    cli_details_field("state", job->enabled ? CLI_GREEN : CLI_YELLOW, "%s",
                      job->enabled ? "enabled" : "disabled");
    if (ran)
        cli_details_field("last run", cli_run_color(job->last_run_state), "%s, %s",
                          pawl_run_state_name(job->last_run_state),
                          cli_when_both(job->last_run_at, now, when));
    else
        cli_details_field("last run", CLI_PLAIN, "none has begun so far");
    cli_details_field("unfinished", CLI_PLAIN, "%d run%s", job->unfinished,
                      job->unfinished == 1 ? "" : "s");
}

static void print_job_fires(const pawl_job *job, pawl_wall now)
{
    PAWLI_AUTO(pawl_schedule) schedule = NULL;
    pawl_fire fires[FIRES];
    size_t count = cli_job_next_fires(job, fires, FIRES, &schedule);
    char local[CLI_FIRE_SIZE];
    char when[CLI_WHEN_SIZE];

    if (schedule)
        cli_details_field("in words", CLI_PLAIN, "%s", pawl_schedule_explain(schedule));
    for (size_t i = 0; i < count; i++)
        cli_details_field(i == 0 ? "next" : "", CLI_PLAIN, "%s, %s",
                          cli_job_fire_text(&fires[i], local),
                          fires[i].utc_offset_s == 0 ? cli_when_relative(fires[i].at, now, when)
                                                     : cli_when_both(fires[i].at, now, when));
    if (count == 0 && !job->enabled)
        cli_details_field("next", CLI_PLAIN, "none, it is disabled");
    else if (count == 0 && !job->problem)
        cli_details_field("next", CLI_PLAIN, "known when the last run starts");
    if (job->definition->jitter_ms > 0)
        cli_details_field("jitter", CLI_PLAIN, "a run is due up to %s after its slot",
                          cli_span_text(job->definition->jitter_ms, when));
    if (count > 0 && job->definition->jitter_ms > 0)
        cli_details_time("next due", job->next_due_at, now);
}

static const char *misfire_words(const pawl_job_definition *is, char ret_words[WORDS_SIZE])
{
    char late[CLI_WHEN_SIZE];

    cli_span_text(is->misfire_grace_ms, late);
    if (is->misfire == PAWL_MISFIRE_ONCE)
        snprintf(ret_words, WORDS_SIZE, "of slots found more than %s late, the newest runs", late);
    else if (is->misfire == PAWL_MISFIRE_ALL)
        snprintf(ret_words, WORDS_SIZE,
                 "of slots found more than %s late, the newest %d run, oldest first", late,
                 is->misfire_cap);
    else
        snprintf(ret_words, WORDS_SIZE, "slots found more than %s late do not run", late);
    return ret_words;
}

static const char *overlap_words(pawl_overlap overlap)
{
    if (overlap == PAWL_OVERLAP_ALLOW)
        return "runs may overlap";
    if (overlap == PAWL_OVERLAP_QUEUE)
        return "while a run has not ended one slot waits in line, others are skipped";
    return "while a run has not ended slots are skipped";
}

static void print_job_limits(const pawl_job_definition *is)
{
    char words[WORDS_SIZE];
    char one[CLI_WHEN_SIZE];
    char two[CLI_WHEN_SIZE];

    cli_details_field("misfire", CLI_PLAIN, "%s: %s", pawl_misfire_name(is->misfire),
                      misfire_words(is, words));
    cli_details_field("overlap", CLI_PLAIN, "%s: %s", pawl_overlap_name(is->overlap),
                      overlap_words(is->overlap));
    cli_details_field("lease", CLI_PLAIN, "%s, renewed every %s", cli_span_text(is->lease_ms, one),
                      cli_span_text(is->heartbeat_ms, two));
    if (is->timeout_ms > 0)
        cli_details_field("run timeout", CLI_PLAIN, "%s per attempt",
                          cli_span_text(is->timeout_ms, one));
    if (is->ttl_ms > 0)
        cli_details_field("ttl", CLI_PLAIN, "a run that nobody begins within %s expires",
                          cli_span_text(is->ttl_ms, one));
    if (is->backoff.base_ms > 0)
        cli_details_field("backoff", CLI_PLAIN, "%s, doubled up to %s",
                          cli_span_text(is->backoff.base_ms, one),
                          cli_span_text(is->backoff.max_ms, two));
    cli_details_field("history", CLI_PLAIN, "the newest %d runs and skips%s%s", is->keep_runs,
                      is->keep_ms > 0 ? ", for " : "",
                      is->keep_ms > 0 ? cli_span_text(is->keep_ms, one) : "");
}

static void print_job_message(const pawl_job_definition *is)
{
    cli_details_field("topic", CLI_PLAIN, "%s", is->topic);
    cli_details_field("type", CLI_PLAIN, "%s", pawl_type_name(is->type));
    cli_details_text("destination", is->destination);
    cli_details_text("headers", is->headers);
    cli_details_text("correlation", is->correlation_id);
    cli_details_field("priority", CLI_PLAIN, "%d", is->priority);
    if (is->max_attempts > 0)
        cli_details_field("attempts", CLI_PLAIN, "%d per run", is->max_attempts);
}

void cli_job_details(const pawl_job *job, pawl_wall now)
{
    const pawl_job_definition *is = job->definition;
    PAWLI_AUTO_FREE char *schedule = cli_job_schedule_text(job);

    cli_details_field("job", CLI_BOLD, "%s", job->name);
    cli_details_field("schedule", CLI_PLAIN, "%s", schedule);
    print_job_fires(job, now);
    print_job_state(job, now);
    print_job_message(is);
    print_job_limits(is);
    cli_details_time("created", job->created_at, now);
    cli_details_time("changed", job->updated_at, now);
    cli_details_bytes("payload", "--payload", is->payload ? is->payload : "", is->payload_size);
}

#define NOTE_SIZE 256

cli_color cli_run_color(pawl_run_state state)
{
    switch (state) {
    case PAWL_RUN_READY:
    case PAWL_RUN_WAITING:
        return CLI_BLUE;
    case PAWL_RUN_RUNNING:
        return CLI_YELLOW;
    case PAWL_RUN_DONE:
        return CLI_GREEN;
    case PAWL_RUN_FAILED:
        return CLI_RED;
    case PAWL_RUN_EXPIRED:
        return CLI_MAGENTA;
    default:
        return CLI_DIM;
    }
}

/* "2m": of an attempt that runs, so far; "" if it has not begun. */
static const char *run_duration_text(const pawl_run *run, pawl_wall now,
                                     char ret_text[CLI_WHEN_SIZE])
{
    bool ended = run->ended_at.us != PAWL_NEVER.us;
    int64_t us = (ended ? run->ended_at.us : now.us) - run->started_at.us;
    int64_t ms = us > 0 ? us / 1000 : 0;

    if (run->started_at.us == PAWL_NEVER.us)
        return "";
    /* Beyond a minute nobody cares for milliseconds. */
    return cli_span_text(ms < CLI_MINUTE_MS ? ms : ms / CLI_SECOND_MS * CLI_SECOND_MS, ret_text);
}

/* Why it was skipped, and how many slots that were; otherwise its error, or that it was asked for.
 */
static const char *run_note(const pawl_run *run, char ret_text[NOTE_SIZE])
{
    char until[CLI_WHEN_SIZE];
    int used;

    if (run->state != PAWL_RUN_SKIPPED)
        return run->error ? run->error : run->triggered ? "triggered by hand" : "";
    used = snprintf(ret_text, NOTE_SIZE, "%s",
                    run->reason == PAWL_RUN_OVERLAP ? "another run had not ended"
                                                    : "nobody looked in time");
    if (run->slots > 1)
        snprintf(ret_text + used, NOTE_SIZE - (size_t)used, "; %s%" PRId64 " slots, until %s",
                 run->slots_is_at_least ? "at least " : "", run->slots,
                 cli_when_absolute(run->last_slot_at, until));
    return ret_text;
}

cli_table *cli_run_table(void)
{
    static const cli_column columns[] = {{"RUN", true},   {"SLOT", false}, {"STATE", false},
                                         {"TRIES", true}, {"BY", false},   {"BEGUN", false},
                                         {"TOOK", true},  {"NOTE", false}};

    return cli_table_new(columns, PAWLI_COUNT(columns));
}

void cli_run_row(cli_table *table, const pawl_run *run, pawl_wall now)
{
    bool begun = run->started_at.us != PAWL_NEVER.us;
    char text[NOTE_SIZE];
    char when[CLI_WHEN_SIZE];

    cli_table_cell(table, CLI_PLAIN, "%" PRId64, run->id);
    cli_table_cell(table, CLI_PLAIN, "%s", cli_table_time(run->scheduled_at, now, when));
    cli_table_cell(table, cli_run_color(run->state), "%s", pawl_run_state_name(run->state));
    cli_table_cell(table, CLI_PLAIN, "%d", run->attempts);
    cli_table_cell(table, CLI_PLAIN, "%s", run->claimed_by ? run->claimed_by : "-");
    cli_table_cell(table, CLI_PLAIN, "%s",
                   begun ? cli_table_time(run->started_at, now, when) : "-");
    cli_table_cell(table, CLI_PLAIN, "%s", run_duration_text(run, now, when));
    cli_table_cell(table, CLI_PLAIN, "%s", run_note(run, text));
}

void cli_run_details(const pawl_run *run, pawl_wall now)
{
    char text[NOTE_SIZE];
    char when[CLI_WHEN_SIZE];

    cli_details_field("run", CLI_BOLD, "%" PRId64 "%s", run->id,
                      run->triggered ? ", triggered by hand" : "");
    cli_details_time("slot", run->scheduled_at, now);
    cli_details_field("state", cli_run_color(run->state), "%s", pawl_run_state_name(run->state));
    if (run->state == PAWL_RUN_SKIPPED)
        cli_details_field("why", CLI_PLAIN, "%s", run_note(run, text));
    if (run->work_id.value > 0)
        cli_details_field("work id", CLI_PLAIN, "%" PRId64, run->work_id.value);
    if (run->attempts > 0)
        cli_details_field("attempts", CLI_PLAIN, "%d", run->attempts);
    cli_details_text("claimed by", run->claimed_by);
    cli_details_time("begun", run->started_at, now);
    cli_details_time("ended", run->ended_at, now);
    if (run->started_at.us != PAWL_NEVER.us)
        cli_details_field("took", CLI_PLAIN, "%s", run_duration_text(run, now, when));
    cli_details_error(run->error);
    if (run->output)
        cli_details_bytes("output", "--json", run->output, run->output_size);
}

json_t *cli_run_json(const pawl_run *run)
{
    bool skipped = run->state == PAWL_RUN_SKIPPED;
    json_t *object = json_object();
    char id[PAWL_UUID_TEXT_SIZE];

    pawl_message_id_format(run->message_id, id);
    cli_json_number(object, "run_id", run->id);
    cli_json_text(object, "job", run->job);
    cli_json_text(object, "state", pawl_run_state_name(run->state));
    json_object_set_new(object, "triggered", json_boolean(run->triggered));
    cli_json_time(object, "scheduled_at", run->scheduled_at);
    cli_json_time(object, "last_slot_at", run->last_slot_at);
    cli_json_text(object, "reason", skipped ? pawl_run_reason_name(run->reason) : NULL);
    cli_json_number(object, "slots", run->slots);
    json_object_set_new(object, "slots_is_at_least", json_boolean(run->slots_is_at_least));
    if (run->work_id.value > 0)
        cli_json_number(object, "work_id", run->work_id.value);
    else
        json_object_set_new(object, "work_id", json_null());
    cli_json_text(object, "message_id", run->work_id.value > 0 ? id : NULL);
    cli_json_number(object, "attempts", run->attempts);
    cli_json_text(object, "claimed_by", run->claimed_by);
    cli_json_time(object, "created_at", run->created_at);
    cli_json_time(object, "started_at", run->started_at);
    cli_json_time(object, "claimed_at", run->claimed_at);
    cli_json_time(object, "ended_at", run->ended_at);
    cli_json_text(object, "error", run->error);
    if (run->output)
        cli_json_bytes(object, "output", run->output, run->output_size);
    else
        json_object_set_new(object, "output", json_null());
    return object;
}
