/* src/cli/commands/message_view.c - a message as a row of a table, as JSON, and in full. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base64.h"
#include "cli.h"
#include "message_view.h"
#include "scope.h"
#include "terminal_text.h"
#include "text.h"

/* Below this width a row has room for either the time of day or the error. */
#define WIDE 120

int cli_message_attempts(const pawl_message *message)
{
    pawl_state state = pawl_message_state(message);
    bool one_more = state == PAWL_STATE_IN_PROGRESS || state == PAWL_STATE_DONE;

    return pawl_message_retries(message) + one_more;
}

cli_color cli_message_state_color(pawl_state state)
{
    switch (state) {
    case PAWL_STATE_READY:
        return CLI_BLUE;
    case PAWL_STATE_IN_PROGRESS:
        return CLI_YELLOW;
    case PAWL_STATE_DONE:
        return CLI_GREEN;
    case PAWL_STATE_FAILED:
        return CLI_RED;
    case PAWL_STATE_EXPIRED:
        return CLI_MAGENTA;
    case PAWL_STATE_CANCELLED:
        return CLI_DIM;
    }
    return CLI_PLAIN;
}

static const cli_column message_columns[] = {{"ID", true},    {"TOPIC", false}, {"STATE", false},
                                             {"TRIES", true}, {"WHEN", false},  {"AGE", true},
                                             {"ERROR", false}};

cli_table *cli_message_table(void)
{
    return cli_table_new(message_columns, PAWLI_COUNT(message_columns));
}

/* The time that matters in this state, and the word for it. */
static pawl_wall relevant_time(const pawl_message *message, const char **ret_word)
{
    switch (pawl_message_state(message)) {
    case PAWL_STATE_READY:
        *ret_word = pawl_message_retries(message) > 0 ? "next " : "due ";
        return pawl_message_next_attempt_at(message);
    case PAWL_STATE_IN_PROGRESS:
        *ret_word = "lease ends ";
        return pawl_message_lease_until(message);
    default:
        *ret_word = "";
        return pawl_message_finished_at(message);
    }
}

const char *cli_table_time(pawl_wall at, pawl_wall now, char ret_text[CLI_WHEN_SIZE])
{
    size_t width = cli_width(stdout);

    if (width > 0 && width < WIDE)
        return cli_when_relative(at, now, ret_text);
    return cli_when_both(at, now, ret_text);
}

void cli_message_row(cli_table *table, const pawl_message *message, pawl_wall now)
{
    pawl_state state = pawl_message_state(message);
    const char *error = pawl_message_last_error(message);
    const char *word;
    pawl_wall time = relevant_time(message, &word);
    char when[CLI_WHEN_SIZE];
    char age[CLI_WHEN_SIZE];

    cli_table_cell(table, CLI_PLAIN, "%" PRId64, pawl_message_work_id(message).value);
    cli_table_cell(table, CLI_PLAIN, "%s", pawl_message_topic(message));
    cli_table_cell(table, cli_message_state_color(state), "%s", pawl_state_name(state));
    if (pawl_message_max_attempts(message) > 0)
        cli_table_cell(table, CLI_PLAIN, "%d/%d", cli_message_attempts(message),
                       pawl_message_max_attempts(message));
    else
        cli_table_cell(table, CLI_PLAIN, "%d", cli_message_attempts(message));
    cli_table_cell(table, CLI_PLAIN, "%s%s", word, cli_table_time(time, now, when));
    cli_when_relative(pawl_message_created_at(message), now, age);
    age[strcspn(age, " ")] = '\0';
    cli_table_cell(table, CLI_DIM, "%s", age);
    cli_table_cell(table, CLI_PLAIN, "%s", error ? error : "");
}

static void set_json_headers(json_t *object, const char *headers)
{
    json_t *parsed = headers ? json_loads(headers, 0, NULL) : json_null();

    json_object_set_new(object, "headers", parsed ? parsed : json_null());
}

static void set_json_times(json_t *object, const pawl_message *message)
{
    cli_json_time(object, "created_at", pawl_message_created_at(message));
    cli_json_time(object, "due_at", pawl_message_due_at(message));
    cli_json_time(object, "next_attempt_at", pawl_message_next_attempt_at(message));
    cli_json_time(object, "lease_until", pawl_message_lease_until(message));
    cli_json_time(object, "expires_at", pawl_message_expires_at(message));
    cli_json_time(object, "finished_at", pawl_message_finished_at(message));
}

/* As `pawl send --count` takes it; NULL: as the service says. */
static const char *count_policy_name(pawl_count count)
{
    if (count == PAWL_COUNT_DEFAULT)
        return NULL;
    return count == PAWL_COUNT_ALL ? "all" : "answered";
}

json_t *cli_message_json(const pawl_message *message)
{
    json_t *object = json_object();
    pawl_owner owner = pawl_message_owner(message);
    char id[PAWL_UUID_TEXT_SIZE];

    cli_json_number(object, "work_id", pawl_message_work_id(message).value);
    pawl_message_id_format(pawl_message_get_id(message), id);
    cli_json_text(object, "message_id", id);
    cli_json_text(object, "topic", pawl_message_topic(message));
    cli_json_text(object, "state", pawl_state_name(pawl_message_state(message)));
    cli_json_text(object, "type", pawl_type_name(pawl_message_type(message)));
    cli_json_number(object, "priority", pawl_message_priority(message));
    cli_json_number(object, "attempts", cli_message_attempts(message));
    cli_json_number(object, "retries", pawl_message_retries(message));
    cli_json_number(object, "max_attempts", pawl_message_max_attempts(message));
    cli_json_text(object, "count", count_policy_name(pawl_message_count(message)));
    cli_json_number(object, "deferrals", pawl_message_deferrals(message));
    set_json_times(object, message);
    cli_json_text(object, "last_error", pawl_message_last_error(message));
    cli_json_text(object, "progress", pawl_message_progress(message));
    cli_json_text(object, "correlation_id", pawl_message_correlation_id(message));
    cli_json_text(object, "destination", pawl_message_destination(message));
    set_json_headers(object, pawl_message_headers(message));
    if (pawl_message_run_id(message) > 0)
        cli_json_number(object, "run_id", pawl_message_run_id(message));
    else
        json_object_set_new(object, "run_id", json_null());
    cli_json_number(object, "fence", pawl_message_fence(message));
    pawl_owner_format(owner, id);
    cli_json_text(object, "owner", pawl_owner_is_zero(owner) ? NULL : id);
    cli_json_text(object, "claimed_by", pawl_message_claimed_by(message));
    cli_json_text(object, "processed_by", pawl_message_processed_by(message));
    return object;
}

void cli_json_bytes(json_t *object, const char *name, const void *bytes, size_t size)
{
    PAWLI_AUTO_FREE char *encoded = NULL;
    char key[64];

    snprintf(key, sizeof key, "%s_size", name);
    cli_json_number(object, key, (long long)size);
    if (!bytes || (pawli_utf8_check(bytes, size, NULL) && !memchr(bytes, 0, size))) {
        cli_json_text(object, name, bytes);
        return;
    }
    encoded = cli_alloc(pawli_base64_length(size) + 1, 1);
    pawli_base64_encode(bytes, size, encoded);
    cli_json_text(object, name, NULL);
    snprintf(key, sizeof key, "%s_base64", name);
    cli_json_text(object, key, encoded);
}

void cli_message_json_payload(json_t *object, const pawl_message *message)
{
    size_t size;
    const void *payload = pawl_message_payload(message, &size);
    const void *output;

    cli_json_bytes(object, "payload", payload, size);
    output = pawl_message_output(message, &size);
    if (output)
        cli_json_bytes(object, "output", output, size);
}

static void print_payload(const pawl_message *message)
{
    size_t size;
    const char *payload = pawl_message_payload(message, &size);
    const char *output;

    cli_details_bytes("payload", "--payload", payload, size);
    output = pawl_message_output(message, &size);
    if (output)
        cli_details_bytes("output", "--json", output, size);
}

/* "2 of 6", "2, until it expires; 3 more sends were not counted" */
static void print_attempts(const pawl_message *message)
{
    int most = pawl_message_max_attempts(message), deferrals = pawl_message_deferrals(message);
    char limit[32] = ", until it expires", more[64] = "";

    if (most > 0)
        snprintf(limit, sizeof limit, " of %d", most);
    if (deferrals > 0)
        snprintf(more, sizeof more, "; %d more send%s deferred, not counted", deferrals,
                 deferrals == 1 ? " was" : "s were");
    cli_details_field("attempts", CLI_PLAIN, "%d%s%s", cli_message_attempts(message), limit, more);
}

static void print_state(const pawl_message *message, pawl_wall now)
{
    pawl_state state = pawl_message_state(message);
    const char *claimed_by = pawl_message_claimed_by(message);
    char until[CLI_WHEN_SIZE];

    cli_details_field("state", cli_message_state_color(state), "%s", pawl_state_name(state));
    print_attempts(message);
    if (state == PAWL_STATE_READY &&
        pawl_message_retries(message) + pawl_message_deferrals(message) > 0)
        cli_details_field("next attempt", CLI_PLAIN, "%s",
                          cli_when_both(pawl_message_next_attempt_at(message), now, until));
    if (state == PAWL_STATE_IN_PROGRESS)
        cli_details_field("held by", CLI_PLAIN, "%s, fence %" PRId64 ", lease ends %s",
                          claimed_by ? claimed_by : "?", pawl_message_fence(message),
                          cli_when_both(pawl_message_lease_until(message), now, until));
    cli_details_text("progress", pawl_message_progress(message));
    cli_details_error(pawl_message_last_error(message));
}

void cli_message_details(const pawl_message *message, pawl_wall now)
{
    char id[PAWL_UUID_TEXT_SIZE];

    cli_details_field("work id", CLI_PLAIN, "%" PRId64, pawl_message_work_id(message).value);
    pawl_message_id_format(pawl_message_get_id(message), id);
    cli_details_field("message id", CLI_PLAIN, "%s", id);
    cli_details_field("topic", CLI_PLAIN, "%s", pawl_message_topic(message));
    if (pawl_message_run_id(message) > 0)
        cli_details_field("job's run", CLI_PLAIN, "%" PRId64, pawl_message_run_id(message));
    print_state(message, now);
    cli_details_field("priority", CLI_PLAIN, "%d", pawl_message_priority(message));
    cli_details_field("type", CLI_PLAIN, "%s", pawl_type_name(pawl_message_type(message)));
    cli_details_text("destination", pawl_message_destination(message));
    cli_details_text("correlation", pawl_message_correlation_id(message));
    cli_details_text("headers", pawl_message_headers(message));
    cli_details_time("created", pawl_message_created_at(message), now);
    cli_details_time("due", pawl_message_due_at(message), now);
    if (pawl_message_state(message) == PAWL_STATE_READY && pawl_message_retries(message) > 0)
        cli_details_time("next attempt", pawl_message_next_attempt_at(message), now);
    cli_details_time("expires", pawl_message_expires_at(message), now);
    cli_details_time("finished", pawl_message_finished_at(message), now);
    cli_details_text("processed by", pawl_message_processed_by(message));
    print_payload(message);
}
