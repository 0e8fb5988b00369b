/* src/cli/run_view.c - a run of a job, or slots that were skipped, in words and as JSON. */
#include <inttypes.h>
#include <stdio.h>

#include "job.h"
#include "view.h"

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
static const char *took(const pawl_run *run, pawl_wall now, char ret_text[CLI_WHEN_SIZE])
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
static const char *note(const pawl_run *run, char ret_text[NOTE_SIZE])
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

    return cli_table_new(columns, CLI_COUNT(columns));
}

void cli_run_row(cli_table *table, const pawl_run *run, pawl_wall now)
{
    bool begun = run->started_at.us != PAWL_NEVER.us;
    char text[NOTE_SIZE];
    char when[CLI_WHEN_SIZE];

    cli_table_cell(table, CLI_PLAIN, "%" PRId64, run->id);
    cli_table_cell(table, CLI_PLAIN, "%s", cli_view_time(run->scheduled_at, now, when));
    cli_table_cell(table, cli_run_color(run->state), "%s", pawl_run_state_name(run->state));
    cli_table_cell(table, CLI_PLAIN, "%d", run->attempts);
    cli_table_cell(table, CLI_PLAIN, "%s", run->claimed_by ? run->claimed_by : "-");
    cli_table_cell(table, CLI_PLAIN, "%s", begun ? cli_view_time(run->started_at, now, when) : "-");
    cli_table_cell(table, CLI_PLAIN, "%s", took(run, now, when));
    cli_table_cell(table, CLI_PLAIN, "%s", note(run, text));
}

void cli_run_page(const pawl_run *run, pawl_wall now)
{
    char text[NOTE_SIZE];
    char when[CLI_WHEN_SIZE];

    cli_page_field("run", CLI_BOLD, "%" PRId64 "%s", run->id,
                   run->triggered ? ", triggered by hand" : "");
    cli_page_time("slot", run->scheduled_at, now);
    cli_page_field("state", cli_run_color(run->state), "%s", pawl_run_state_name(run->state));
    if (run->state == PAWL_RUN_SKIPPED)
        cli_page_field("why", CLI_PLAIN, "%s", note(run, text));
    if (run->work_id.value > 0)
        cli_page_field("work id", CLI_PLAIN, "%" PRId64, run->work_id.value);
    if (run->attempts > 0)
        cli_page_field("attempts", CLI_PLAIN, "%d", run->attempts);
    cli_page_text("claimed by", run->claimed_by);
    cli_page_time("begun", run->started_at, now);
    cli_page_time("ended", run->ended_at, now);
    if (run->started_at.us != PAWL_NEVER.us)
        cli_page_field("took", CLI_PLAIN, "%s", took(run, now, when));
    cli_page_error(run->error);
    if (run->output)
        cli_page_bytes("output", "--json", run->output, run->output_size);
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
        cli_view_json_bytes(object, "output", run->output, run->output_size);
    else
        json_object_set_new(object, "output", json_null());
    return object;
}
