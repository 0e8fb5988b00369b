/* src/cli/commands/message_fields.c - a message as JSON, as a row of a table, and in full. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "message_fields.h"

/* ---- values that are the library's ---- */

CLI_FIELD_READ(pawl_message, read_work_id, cli_value_number(to, pawl_message_work_id(it).value));
CLI_FIELD_READ(pawl_message, read_topic, cli_value_text(to, pawl_message_topic(it)));
CLI_FIELD_READ(pawl_message, read_type, cli_value_text(to, pawl_type_name(pawl_message_type(it))));
CLI_FIELD_READ(pawl_message, read_priority, cli_value_number(to, pawl_message_priority(it)));
CLI_FIELD_READ(pawl_message, read_retries, cli_value_number(to, pawl_message_retries(it)));
CLI_FIELD_READ(pawl_message, read_max_attempts,
               cli_value_number(to, pawl_message_max_attempts(it)));
CLI_FIELD_READ(pawl_message, read_deferrals, cli_value_number(to, pawl_message_deferrals(it)));
CLI_FIELD_READ(pawl_message, read_created_at, cli_value_time(to, pawl_message_created_at(it)));
CLI_FIELD_READ(pawl_message, read_due_at, cli_value_time(to, pawl_message_due_at(it)));
CLI_FIELD_READ(pawl_message, read_next_attempt_at,
               cli_value_time(to, pawl_message_next_attempt_at(it)));
CLI_FIELD_READ(pawl_message, read_lease_until, cli_value_time(to, pawl_message_lease_until(it)));
CLI_FIELD_READ(pawl_message, read_expires_at, cli_value_time(to, pawl_message_expires_at(it)));
CLI_FIELD_READ(pawl_message, read_finished_at, cli_value_time(to, pawl_message_finished_at(it)));
CLI_FIELD_READ(pawl_message, read_last_error, cli_value_text(to, pawl_message_last_error(it)));
CLI_FIELD_READ(pawl_message, read_progress, cli_value_text(to, pawl_message_progress(it)));
CLI_FIELD_READ(pawl_message, read_correlation_id,
               cli_value_text(to, pawl_message_correlation_id(it)));
CLI_FIELD_READ(pawl_message, read_destination, cli_value_text(to, pawl_message_destination(it)));
CLI_FIELD_READ(pawl_message, read_headers, cli_value_text(to, pawl_message_headers(it)));
CLI_FIELD_READ(pawl_message, read_ordering_key, cli_value_text(to, pawl_message_ordering_key(it)));
CLI_FIELD_READ(pawl_message, read_unique_key, cli_value_text(to, pawl_message_unique_key(it)));
CLI_FIELD_READ(pawl_message, read_fence, cli_value_number(to, pawl_message_fence(it)));
CLI_FIELD_READ(pawl_message, read_claimed_by, cli_value_text(to, pawl_message_claimed_by(it)));
CLI_FIELD_READ(pawl_message, read_processed_by, cli_value_text(to, pawl_message_processed_by(it)));

/* ---- values that are made of them ---- */

static void read_message_id(const void *record, pawl_wall now, cli_value *to)
{
    (void)now;
    pawl_uuid_format(pawl_message_id(record), to->room);
    cli_value_text(to, to->room);
}

static void read_owner(const void *record, pawl_wall now, cli_value *to)
{
    pawl_owner owner = pawl_message_owner(record);

    (void)now;
    pawl_owner_format(owner, to->room);
    cli_value_text(to, pawl_owner_is_zero(owner) ? NULL : to->room);
}

static void read_state(const void *record, pawl_wall now, cli_value *to)
{
    static const cli_color colors[PAWL_STATE_COUNT] = {
        [PAWL_STATE_READY] = CLI_BLUE,      [PAWL_STATE_RUNNING] = CLI_YELLOW,
        [PAWL_STATE_DONE] = CLI_GREEN,      [PAWL_STATE_FAILED] = CLI_RED,
        [PAWL_STATE_EXPIRED] = CLI_MAGENTA, [PAWL_STATE_CANCELLED] = CLI_DIM,
        [PAWL_STATE_SCHEDULED] = CLI_PLAIN,
    };
    pawl_state state = pawl_message_state(record);

    (void)now;
    cli_value_text(to, pawl_state_name(state));
    to->color = (unsigned)state < PAWL_STATE_COUNT ? colors[state] : CLI_PLAIN;
}

/* Attempts started so far. */
static int attempts_started(const pawl_message *message)
{
    pawl_state state = pawl_message_state(message);
    bool one_more = state == PAWL_STATE_RUNNING || state == PAWL_STATE_DONE;

    return pawl_message_retries(message) + one_more;
}
CLI_FIELD_READ(pawl_message, read_attempts, cli_value_number(to, attempts_started(it)));

/* "2/10" */
static void read_attempts_of(const void *record, pawl_wall now, cli_value *to)
{
    int most = pawl_message_max_attempts(record);

    (void)now;
    if (most > 0)
        cli_value_format(to, CLI_PLAIN, "%d/%d", attempts_started(record), most);
    else
        cli_value_number(to, attempts_started(record));
}

/* "2 of 6", "2, until it expires; 3 more sends were not counted" */
static void read_attempts_words(const void *record, pawl_wall now, cli_value *to)
{
    int most = pawl_message_max_attempts(record), deferrals = pawl_message_deferrals(record);
    char limit[32] = ", until it expires", more[64] = "";

    (void)now;
    if (most > 0)
        snprintf(limit, sizeof limit, " of %d", most);
    if (deferrals > 0)
        snprintf(more, sizeof more, "; %d more send%s deferred, not counted", deferrals,
                 deferrals == 1 ? " was" : "s were");
    cli_value_format(to, CLI_PLAIN, "%d%s%s", attempts_started(record), limit, more);
}

/* As `pawl send --count` takes it; none: as the service says. */
static void read_count(const void *record, pawl_wall now, cli_value *to)
{
    pawl_count count = pawl_message_count(record);

    (void)now;
    if (count != PAWL_COUNT_DEFAULT)
        cli_value_text(to, count == PAWL_COUNT_ALL ? "all" : "answered");
}

CLI_FIELD_READ(pawl_message, read_run_id, cli_value_positive(to, pawl_message_run_id(it)));

static bool waits_for_attempt(const pawl_message *message)
{
    pawl_state state = pawl_message_state(message);

    return state == PAWL_STATE_SCHEDULED || state == PAWL_STATE_READY;
}

static void read_retry_at(const void *record, pawl_wall now, cli_value *to)
{
    bool waits = waits_for_attempt(record);

    (void)now;
    if (waits && pawl_message_retries(record) + pawl_message_deferrals(record) > 0)
        cli_value_time(to, pawl_message_next_attempt_at(record));
}

static void read_claim(const void *record, pawl_wall now, cli_value *to)
{
    const char *claimed_by = pawl_message_claimed_by(record);

    if (pawl_message_state(record) == PAWL_STATE_RUNNING)
        cli_value_format(to, CLI_PLAIN, "%s, fence %" PRId64 ", lease ends %s",
                         claimed_by ? claimed_by : "?", pawl_message_fence(record),
                         cli_when_both(pawl_message_lease_until(record), now, CLI_ROOM));
}

/* The time that matters in this state. */
static void read_when(const void *record, pawl_wall now, cli_value *to)
{
    const char *word = "";
    pawl_wall time = pawl_message_finished_at(record);

    if (waits_for_attempt(record)) {
        word = pawl_message_retries(record) > 0 ? "next " : "due ";
        time = pawl_message_next_attempt_at(record);
    } else if (pawl_message_state(record) == PAWL_STATE_RUNNING) {
        word = "lease ends ";
        time = pawl_message_lease_until(record);
    }
    cli_value_format(to, CLI_PLAIN, "%s%s", word, cli_table_time(time, now, CLI_ROOM));
}

static void read_age(const void *record, pawl_wall now, cli_value *to)
{
    char age[CLI_WHEN_SIZE];

    cli_when_relative(pawl_message_created_at(record), now, age);
    cli_value_format(to, CLI_DIM, "%.*s", (int)strcspn(age, " "), age);
}

static void set_headers(json_t *object, const void *record)
{
    cli_json_object(object, "headers", pawl_message_headers(record));
}

/* An array; null: none. */
static void set_tags(json_t *object, const void *record)
{
    size_t count = pawl_message_tag_count(record);
    json_t *tags = count > 0 ? json_array() : json_null();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(tags, json_string(pawl_message_tag(record, i)));
    json_object_set_new(object, "tags", tags);
}

/* "a, b" */
static void read_tags(const void *record, pawl_wall now, cli_value *to)
{
    size_t count = pawl_message_tag_count(record), size = 0;

    (void)now;
    if (count == 0)
        return;
    for (size_t i = 0; i < count && size < sizeof to->room; i++)
        size += (size_t)snprintf(to->room + size, sizeof to->room - size, "%s%s", i > 0 ? ", " : "",
                                 pawl_message_tag(record, i));
    cli_value_text(to, to->room);
}

/* ---- the fields ---- */

static const cli_field message_fields[] = {
    {"work_id", .read = read_work_id, .details = {1, "work id"}, .column = {1, "ID", true}},
    {"message_id", .read = read_message_id, .details = {2, "message id"}},
    {"topic", .read = read_topic, .details = {3, "topic"}, .column = {2, "TOPIC"}},
    {"state", .read = read_state, .details = {5, "state"}, .column = {3, "STATE"}},
    {"type", .read = read_type, .details = {12, "type"}},
    {"priority", .read = read_priority, .details = {11, "priority"}},
    {"attempts", .read = read_attempts},
    {NULL, .read = read_attempts_words, .details = {6, "attempts"}},
    {NULL, .read = read_attempts_of, .column = {4, "ATTEMPTS", true}},
    {"retries", .read = read_retries},
    {"max_attempts", .read = read_max_attempts},
    {"count", .read = read_count},
    {"deferrals", .read = read_deferrals},
    {"created_at", .read = read_created_at, .details = {16, "created"}},
    {"due_at", .read = read_due_at, .details = {17, "due"}},
    {"next_attempt_at", .read = read_next_attempt_at},
    {NULL, .read = read_retry_at, .details = {7, "next attempt"}},
    {NULL, .read = read_when, .column = {5, "WHEN"}},
    {NULL, .read = read_age, .column = {6, "AGE", true}},
    {"lease_until", .read = read_lease_until},
    {NULL, .read = read_claim, .details = {8, "owner"}},
    {"expires_at", .read = read_expires_at, .details = {18, "expires"}},
    {"finished_at", .read = read_finished_at, .details = {19, "finished"}},
    {"last_error", CLI_FIELD_ERROR, .read = read_last_error, .details = {10, "error"},
     .column = {7, "ERROR"}},
    {"progress", .read = read_progress, .details = {9, "progress"}},
    {"correlation_id", .read = read_correlation_id, .details = {14, "correlation"}},
    {"destination", .read = read_destination, .details = {13, "destination"}},
    {"headers", .read = read_headers, .set = set_headers, .details = {15, "headers"}},
    {"run_id", .read = read_run_id, .details = {4, "job's run"}},
    {"fence", .read = read_fence},
    {"owner", .read = read_owner},
    {"claimed_by", .read = read_claimed_by},
    {"processed_by", .read = read_processed_by, .details = {20, "processed by"}},
    {"ordering_key", .read = read_ordering_key, .details = {21, "ordering key"}},
    {"unique_key", .read = read_unique_key, .details = {22, "unique key"}},
    {"tags", .read = read_tags, .set = set_tags, .details = {23, "tags"}},
};
const cli_noun cli_message_noun = CLI_NOUN(message_fields);

static void read_dim_message_id(const void *record, pawl_wall now, cli_value *to)
{
    read_message_id(record, now, to);
    to->color = CLI_DIM;
}

static const cli_field timer_fields[] = {
    {NULL, .read = read_work_id, .column = {1, "ID", true}},
    {NULL, .read = read_topic, .column = {2, "TOPIC"}},
    {NULL, .read = read_next_attempt_at, .column = {3, "DUE"}},
    {NULL, .read = read_priority, .column = {4, "PRIORITY", true}},
    {NULL, .read = read_destination, .column = {5, "DESTINATION", false, "-"}},
    {NULL, .read = read_correlation_id, .column = {6, "CORRELATION", false, "-"}},
    {NULL, .read = read_dim_message_id, .column = {7, "MESSAGE ID"}},
};
const cli_noun cli_timer_noun = CLI_NOUN(timer_fields);

/* ---- in full ---- */

json_t *cli_message_full_json(const pawl_message *message)
{
    json_t *object = cli_noun_json(&cli_message_noun, message);
    size_t size;
    const void *payload = pawl_message_payload(message, &size);
    const void *output;

    cli_json_bytes(object, "payload", payload, size);
    output = pawl_message_output(message, &size);
    if (output)
        cli_json_bytes(object, "output", output, size);
    return object;
}

void cli_message_details(const pawl_message *message, pawl_wall now)
{
    size_t size;
    const char *payload = pawl_message_payload(message, &size);
    const char *output;

    cli_noun_details(&cli_message_noun, message, now);
    cli_details_bytes("payload", "--payload", payload, size);
    output = pawl_message_output(message, &size);
    if (output)
        cli_details_bytes("output", "--json", output, size);
}
