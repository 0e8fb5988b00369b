/* src/cli/job_view.c - a job in words and as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "job.h"
#include "view.h"

#define FIRES 3
#define WORDS_SIZE 256

char *cli_job_schedule_text(const pawl_job *job)
{
    const pawl_job_definition *is = job->definition;

    return strcmp(is->zone, "UTC") == 0 ? cli_copy(is->schedule)
                                        : cli_print("%s (%s)", is->schedule, is->zone);
}

/* ---- JSON ---- */

static void set_span(json_t *object, const char *key, int64_t ms)
{
    if (ms > 0)
        cli_json_number(object, key, ms);
    else
        json_object_set_new(object, key, json_null());
}

static void set_message(json_t *object, const pawl_job_definition *is)
{
    json_t *headers = is->headers ? json_loads(is->headers, 0, NULL) : NULL;

    cli_json_text(object, "topic", is->topic);
    cli_json_text(object, "type", pawl_type_name(is->type));
    cli_json_text(object, "destination", is->destination);
    json_object_set_new(object, "headers", headers ? headers : json_null());
    cli_json_text(object, "correlation_id", is->correlation_id);
    cli_json_number(object, "priority", is->priority);
    set_span(object, "max_attempts", is->max_attempts);
    set_span(object, "retry_base_ms", is->backoff.base_ms);
    set_span(object, "retry_max_ms", is->backoff.max_ms);
    set_span(object, "retry_jitter_ms", is->backoff.jitter_ms);
}

static void set_limits(json_t *object, const pawl_job_definition *is)
{
    cli_json_text(object, "misfire", pawl_misfire_name(is->misfire));
    cli_json_number(object, "misfire_cap", is->misfire_cap);
    cli_json_number(object, "misfire_grace_ms", is->misfire_grace_ms);
    cli_json_text(object, "overlap", pawl_overlap_name(is->overlap));
    cli_json_number(object, "jitter_ms", is->jitter_ms);
    set_span(object, "ttl_ms", is->ttl_ms);
    set_span(object, "run_timeout_ms", is->timeout_ms);
    cli_json_number(object, "lease_ms", is->lease_ms);
    cli_json_number(object, "heartbeat_ms", is->heartbeat_ms);
    cli_json_number(object, "keep_runs", is->keep_runs);
    set_span(object, "keep_ms", is->keep_ms);
}

static void set_fires(json_t *object, const pawl_job *job)
{
    CLI_AUTO(pawl_schedule) schedule = NULL;
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
    set_fires(object, job);
    set_message(object, is);
    set_limits(object, is);
    cli_json_time(object, "created_at", job->created_at);
    cli_json_time(object, "updated_at", job->updated_at);
    return object;
}

/* ---- a page ---- */

static void print_state(const pawl_job *job, pawl_wall now)
{
    bool ran = job->last_run_at.us != PAWL_NEVER.us;
    char when[CLI_WHEN_SIZE];

    if (job->problem)
        cli_page_field("problem", CLI_RED, "%s", job->problem);
    cli_page_field("state", job->enabled ? CLI_GREEN : CLI_YELLOW, "%s",
                   job->enabled ? "enabled" : "disabled");
    if (ran)
        cli_page_field("last run", cli_run_color(job->last_run_state), "%s, %s",
                       pawl_run_state_name(job->last_run_state),
                       cli_when_both(job->last_run_at, now, when));
    else
        cli_page_field("last run", CLI_PLAIN, "none has begun so far");
    cli_page_field("unfinished", CLI_PLAIN, "%d run%s", job->unfinished,
                   job->unfinished == 1 ? "" : "s");
}

static void print_fires(const pawl_job *job, pawl_wall now)
{
    CLI_AUTO(pawl_schedule) schedule = NULL;
    pawl_fire fires[FIRES];
    size_t count = cli_job_next_fires(job, fires, FIRES, &schedule);
    char local[CLI_FIRE_SIZE];
    char when[CLI_WHEN_SIZE];

    if (schedule)
        cli_page_field("in words", CLI_PLAIN, "%s", pawl_schedule_explain(schedule));
    for (size_t i = 0; i < count; i++)
        cli_page_field(i == 0 ? "next" : "", CLI_PLAIN, "%s, %s",
                       cli_job_fire_text(&fires[i], local),
                       fires[i].utc_offset_s == 0 ? cli_when_relative(fires[i].at, now, when)
                                                  : cli_when_both(fires[i].at, now, when));
    if (count == 0 && !job->enabled)
        cli_page_field("next", CLI_PLAIN, "none, it is disabled");
    else if (count == 0 && !job->problem)
        cli_page_field("next", CLI_PLAIN, "known when the last run starts");
    if (job->definition->jitter_ms > 0)
        cli_page_field("jitter", CLI_PLAIN, "a run is due up to %s after its slot",
                       cli_span_text(job->definition->jitter_ms, when));
    if (count > 0 && job->definition->jitter_ms > 0)
        cli_page_time("next due", job->next_due_at, now);
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

static void print_limits(const pawl_job_definition *is)
{
    char words[WORDS_SIZE];
    char one[CLI_WHEN_SIZE];
    char two[CLI_WHEN_SIZE];

    cli_page_field("misfire", CLI_PLAIN, "%s: %s", pawl_misfire_name(is->misfire),
                   misfire_words(is, words));
    cli_page_field("overlap", CLI_PLAIN, "%s: %s", pawl_overlap_name(is->overlap),
                   overlap_words(is->overlap));
    cli_page_field("lease", CLI_PLAIN, "%s, renewed every %s", cli_span_text(is->lease_ms, one),
                   cli_span_text(is->heartbeat_ms, two));
    if (is->timeout_ms > 0)
        cli_page_field("run timeout", CLI_PLAIN, "%s per attempt",
                       cli_span_text(is->timeout_ms, one));
    if (is->ttl_ms > 0)
        cli_page_field("ttl", CLI_PLAIN, "a run that nobody begins within %s expires",
                       cli_span_text(is->ttl_ms, one));
    if (is->backoff.base_ms > 0)
        cli_page_field("backoff", CLI_PLAIN, "%s, doubled up to %s",
                       cli_span_text(is->backoff.base_ms, one),
                       cli_span_text(is->backoff.max_ms, two));
    cli_page_field("history", CLI_PLAIN, "the newest %d runs and skips%s%s", is->keep_runs,
                   is->keep_ms > 0 ? ", for " : "",
                   is->keep_ms > 0 ? cli_span_text(is->keep_ms, one) : "");
}

static void print_message(const pawl_job_definition *is)
{
    cli_page_field("topic", CLI_PLAIN, "%s", is->topic);
    cli_page_field("type", CLI_PLAIN, "%s", pawl_type_name(is->type));
    cli_page_text("destination", is->destination);
    cli_page_text("headers", is->headers);
    cli_page_text("correlation", is->correlation_id);
    cli_page_field("priority", CLI_PLAIN, "%d", is->priority);
    if (is->max_attempts > 0)
        cli_page_field("attempts", CLI_PLAIN, "%d per run", is->max_attempts);
}

void cli_job_page(const pawl_job *job, pawl_wall now)
{
    const pawl_job_definition *is = job->definition;
    CLI_AUTO_FREE char *schedule = cli_job_schedule_text(job);

    cli_page_field("job", CLI_BOLD, "%s", job->name);
    cli_page_field("schedule", CLI_PLAIN, "%s", schedule);
    print_fires(job, now);
    print_state(job, now);
    print_message(is);
    print_limits(is);
    cli_page_time("created", job->created_at, now);
    cli_page_time("changed", job->updated_at, now);
    cli_page_bytes("payload", "--payload", is->payload ? is->payload : "", is->payload_size);
}
