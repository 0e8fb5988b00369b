/* src/cli/commands/inbox_view.c - a record of the inbox as a row, as JSON, and in full. */
#include <inttypes.h>
#include <stdio.h>

#include "inbox_view.h"
#include "message_view.h"
#include "scope.h"

static cli_color record_color(pawl_inbox_state state)
{
    switch (state) {
    case PAWL_INBOX_DONE:
        return CLI_GREEN;
    case PAWL_INBOX_DEAD:
        return CLI_RED;
    case PAWL_INBOX_PROCESSING:
        return CLI_BLUE;
    default:
        return CLI_PLAIN;
    }
}

/* Whoever was at it has died. */
static bool record_is_stuck(const pawl_inbox_record *record, pawl_wall now)
{
    return record->state == PAWL_INBOX_PROCESSING && record->lease_until.us <= now.us;
}

cli_table *cli_inbox_table(void)
{
    static const cli_column columns[] = {
        {"NUMBER", true},   {"SOURCE", false},    {"ID", false},        {"STATE", false},
        {"ATTEMPTS", true}, {"DUPLICATES", true}, {"LAST SEEN", false}, {"ERROR", false}};

    return cli_table_new(columns, PAWLI_COUNT(columns));
}

void cli_inbox_row(cli_table *table, const pawl_inbox_record *record, pawl_wall now)
{
    bool stuck = record_is_stuck(record, now);
    char when[CLI_WHEN_SIZE];

    cli_table_cell(table, CLI_PLAIN, "%" PRId64, record->number);
    cli_table_cell(table, CLI_PLAIN, "%s", record->source);
    cli_table_cell(table, CLI_PLAIN, "%s", record->id);
    cli_table_cell(table, stuck ? CLI_YELLOW : record_color(record->state), "%s%s",
                   pawl_inbox_state_name(record->state), stuck ? " (stuck)" : "");
    cli_table_cell(table, CLI_PLAIN, "%d/%d", record->attempts, record->max_attempts);
    cli_table_cell(table, CLI_PLAIN, "%" PRId64, record->duplicates);
    cli_table_cell(table, CLI_PLAIN, "%s", cli_table_time(record->last_seen, now, when));
    cli_table_cell(table, CLI_PLAIN, "%s", record->error ? record->error : "");
}

static void format_hash(const uint8_t *hash, char ret_text[65])
{
    for (size_t i = 0; i < 32; i++)
        snprintf(ret_text + 2 * i, 3, "%02x", hash[i]);
}

json_t *cli_inbox_json(const pawl_inbox_record *record)
{
    json_t *object = json_object();
    char hash[65];

    cli_json_number(object, "number", record->number);
    cli_json_text(object, "source", record->source);
    cli_json_text(object, "id", record->id);
    cli_json_text(object, "state", pawl_inbox_state_name(record->state));
    cli_json_text(object, "endpoint", record->endpoint);
    cli_json_number(object, "attempts", record->attempts);
    cli_json_number(object, "max_attempts", record->max_attempts);
    json_object_set_new(object, "suspect", json_boolean(record->suspect));
    cli_json_number(object, "duplicates", record->duplicates);
    cli_json_number(object, "fence", record->fence);
    cli_json_time(object, "lease_until", record->lease_until);
    cli_json_time(object, "first_seen", record->first_seen);
    cli_json_time(object, "last_seen", record->last_seen);
    cli_json_time(object, "processed_at", record->processed_at);
    cli_json_time(object, "expires_at", record->expires_at);
    if (record->hash)
        format_hash(record->hash, hash);
    cli_json_text(object, "hash", record->hash ? hash : NULL);
    cli_json_text(object, "error", record->error);
    return object;
}

void cli_inbox_details(const pawl_inbox_record *record, pawl_wall now)
{
    char hash[65];

    cli_details_field("source", CLI_PLAIN, "%s", record->source);
    cli_details_field("id", CLI_PLAIN, "%s", record->id);
    cli_details_field("state", record_color(record->state), "%s%s",
                      pawl_inbox_state_name(record->state),
                      record_is_stuck(record, now) ? " (stuck: whoever was at it has died)" : "");
    cli_details_field("attempts", CLI_PLAIN, "%d of %d%s", record->attempts, record->max_attempts,
                      record->suspect ? " (the first that did not end does not count)" : "");
    cli_details_field("duplicates", CLI_PLAIN, "%" PRId64, record->duplicates);
    cli_details_text("endpoint", record->endpoint);
    cli_details_error(record->error);
    if (record->state == PAWL_INBOX_PROCESSING)
        cli_details_field("fence", CLI_PLAIN, "%" PRId64, record->fence);
    cli_details_time("lease ends", record->lease_until, now);
    cli_details_time("first seen", record->first_seen, now);
    cli_details_time("last seen", record->last_seen, now);
    cli_details_time("processed", record->processed_at, now);
    cli_details_time("forgotten", record->expires_at, now);
    if (record->hash) {
        format_hash(record->hash, hash);
        cli_details_field("SHA-256", CLI_PLAIN, "%s", hash);
    }
    if (record->response)
        cli_details_bytes("response", "--response", record->response, record->response_size);
}
