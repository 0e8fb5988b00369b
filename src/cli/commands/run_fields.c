/* src/cli/commands/run_fields.c - a run of a job, or occurrences that were skipped, as JSON, as a
 * row of a table, and in full. */
#include <inttypes.h>
#include <stdio.h>

#include "cmd_job.h"

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
    bool ended = run->ended_at.us != PAWL_TIME_UNSET.us;
    int64_t us = (ended ? run->ended_at.us : now.us) - run->started_at.us;
    int64_t ms = us > 0 ? us / 1000 : 0;

    if (run->started_at.us == PAWL_TIME_UNSET.us)
        return "";
    /* Milliseconds do not matter beyond a minute. */
    return cli_span_text(ms < CLI_MINUTE_MS ? ms : ms / CLI_SECOND_MS * CLI_SECOND_MS, ret_text);
}

/* Why it was skipped, and how many occurrences that were; otherwise its error, or that it was asked
 * for.
 */
static const char *run_note(const pawl_run *run, char ret_text[NOTE_SIZE])
{
    char until[CLI_WHEN_SIZE];
    int used;

    if (run->state != PAWL_RUN_SKIPPED)
        return run->error ? run->error : run->triggered ? "triggered manually" : "";
    used = snprintf(ret_text, NOTE_SIZE, "%s",
                    run->reason == PAWL_RUN_OVERLAP ? "another run had not ended"
                                                    : "no scheduler was running in time");
    if (run->occurrences > 1)
        snprintf(ret_text + used, NOTE_SIZE - (size_t)used, "; %s%" PRId64 " occurrences, until %s",
                 run->occurrences_is_at_least ? "at least " : "", run->occurrences,
                 cli_when_absolute(run->last_occurrence_at, until));
    return ret_text;
}

CLI_FIELD_READ(pawl_run, read_run_heading,
               cli_value_format(to, CLI_BOLD, "%" PRId64 "%s", it->id,
                                it->triggered ? ", triggered manually" : ""));
CLI_FIELD_READ(pawl_run, read_run_state,
               cli_value_colored(to, cli_run_color(it->state), pawl_run_state_name(it->state)));
CLI_FIELD_READ(pawl_run, read_skip_reason,
               if (it->state == PAWL_RUN_SKIPPED)
                   cli_value_text(to, pawl_run_reason_name(it->reason)));
CLI_FIELD_READ(pawl_run, read_run_note, cli_value_text(to, run_note(it, to->room)));
CLI_FIELD_READ(pawl_run, read_skip_note,
               if (it->state == PAWL_RUN_SKIPPED) read_run_note(it, now, to));
CLI_FIELD_READ(pawl_run, read_run_work_id, cli_value_positive(to, it->work_id.value));

static void read_run_message_id(const void *record, pawl_wall now, cli_value *to)
{
    const pawl_run *run = record;

    (void)now;
    pawl_uuid_format(run->message_id, to->room);
    cli_value_text(to, run->work_id.value > 0 ? to->room : NULL);
}

CLI_FIELD_READ(pawl_run, read_attempts_made, cli_value_positive(to, it->attempts));
CLI_FIELD_READ(pawl_run, read_run_duration,
               if (it->started_at.us != PAWL_TIME_UNSET.us)
                   cli_value_text(to, run_duration_text(it, now, to->room)));

/* Only if it was read. */
static void set_run_output(json_t *object, const void *record)
{
    const pawl_run *run = record;

    if (run->output)
        cli_json_bytes(object, "output", run->output, run->output_size);
    else
        json_object_set_new(object, "output", json_null());
}

static void print_run_output(const void *record, pawl_wall now)
{
    const pawl_run *run = record;

    (void)now;
    if (run->output)
        cli_details_bytes("output", "--json", run->output, run->output_size);
}

#define RUN(kind, member) CLI_FIELD_##kind, offsetof(pawl_run, member)
static const cli_field run_fields[] = {
    {"run_id", RUN(INT64, id), .column = {1, "RUN", true}},
    {NULL, .read = read_run_heading, .details = {1, "run"}},
    {"job", RUN(TEXT, job)},
    {"state", .read = read_run_state, .details = {3, "state"}, .column = {3, "STATE"}},
    {"triggered", RUN(BOOL, triggered)},
    {"scheduled_at", RUN(TIME, scheduled_at), .details = {2, "scheduled"},
     .column = {2, "SCHEDULED"}},
    {"last_occurrence_at", RUN(TIME, last_occurrence_at)},
    {"reason", .read = read_skip_reason},
    {NULL, .read = read_skip_note, .details = {4, "why"}},
    {NULL, .read = read_run_note, .column = {8, "NOTE"}},
    {"occurrences", RUN(INT64, occurrences)},
    {"occurrences_is_at_least", RUN(BOOL, occurrences_is_at_least)},
    {"work_id", .read = read_run_work_id, .details = {5, "work id"}},
    {"message_id", .read = read_run_message_id},
    {"attempts", RUN(INT, attempts), .column = {4, "ATTEMPTS", true}},
    {NULL, .read = read_attempts_made, .details = {6, "attempts"}},
    {"claimed_by", RUN(TEXT, claimed_by), .details = {7, "claimed by"},
     .column = {5, "WORKER", false, "-"}},
    {"created_at", RUN(TIME, created_at)},
    {"started_at", RUN(TIME, started_at), .details = {8, "started"},
     .column = {6, "STARTED", false, "-"}},
    {"claimed_at", RUN(TIME, claimed_at)},
    {"ended_at", RUN(TIME, ended_at), .details = {9, "ended"}},
    {NULL, .read = read_run_duration, .details = {10, "duration"}, .column = {7, "DURATION", true}},
    {"error", RUN(ERROR, error), .details = {11, "error"}},
    {NULL, .set = set_run_output, .print = print_run_output, .details = {12, "output"}},
};
const cli_noun cli_run_noun = CLI_NOUN(run_fields);
