/* src/cli/page.c - everything about one message, for people. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "text.h"
#include "view.h"

#define HEX_BYTES 64

void cli_page_field(const char *name, cli_color color, const char *format, ...)
{
    CLI_AUTO_FREE char *raw = NULL;
    CLI_AUTO_FREE char *clean = NULL;
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&raw, format, arguments) < 0)
        raw = NULL;
    va_end(arguments);
    clean = raw ? cli_text_clean(raw, strlen(raw), true) : cli_copy("");
    printf("%s%-12s%s %s%s%s\n", cli_style(stdout, CLI_BOLD), name, cli_style(stdout, CLI_PLAIN),
           color == CLI_PLAIN ? "" : cli_style(stdout, color), clean,
           color == CLI_PLAIN ? "" : cli_style(stdout, CLI_PLAIN));
}

void cli_page_text(const char *name, const char *text)
{
    if (text)
        cli_page_field(name, CLI_PLAIN, "%s", text);
}

void cli_page_time(const char *name, pawl_wall time, pawl_wall now)
{
    char text[CLI_WHEN_SIZE];

    if (time.us != PAWL_NEVER.us)
        cli_page_field(name, CLI_PLAIN, "%s", cli_when_both(time, now, text));
}

/* Several lines, each indented by two. */
static void print_block(const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        printf("  %.*s\n", (int)length, text);
        text += length;
        if (*text == '\n')
            text++;
    }
}

void cli_page_error(const char *error)
{
    CLI_AUTO_FREE char *clean = NULL;

    if (!error)
        return;
    if (!strchr(error, '\n')) {
        cli_page_field("error", CLI_RED, "%s", error);
        return;
    }
    clean = cli_text_clean(error, strlen(error), false);
    cli_page_field("error", CLI_PLAIN, "%s", "");
    fputs(cli_style(stdout, CLI_RED), stdout);
    print_block(clean);
    fputs(cli_style(stdout, CLI_PLAIN), stdout);
}

static void print_hex(const unsigned char *bytes, size_t size)
{
    size_t shown = size < HEX_BYTES ? size : HEX_BYTES;

    for (size_t i = 0; i < shown; i++)
        printf("%s%02x%s", i % 16 == 0 ? "  " : " ", bytes[i],
               i % 16 == 15 || i + 1 == shown ? "\n" : "");
    if (shown < size)
        puts("  ...");
}

void cli_page_bytes(const char *name, const char *option, const char *bytes, size_t size)
{
    bool printable = cli_text_printable(bytes, size);

    cli_page_field(name, CLI_PLAIN, "%zu byte%s%s%s%s", size, size == 1 ? "" : "s",
                   printable ? "" : ", not text (", printable ? "" : option,
                   printable ? "" : " writes them to stdout)");
    if (printable)
        print_block(bytes);
    else
        print_hex((const unsigned char *)bytes, size);
}

static void print_payload(const pawl_message *message)
{
    size_t size;
    const char *payload = pawl_message_payload(message, &size);
    const char *output;

    cli_page_bytes("payload", "--payload", payload, size);
    output = pawl_message_output(message, &size);
    if (output)
        cli_page_bytes("output", "--json", output, size);
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
    cli_page_field("attempts", CLI_PLAIN, "%d%s%s", cli_view_attempts(message), limit, more);
}

static void print_state(const pawl_message *message, pawl_wall now)
{
    pawl_state state = pawl_message_state(message);
    const char *claimed_by = pawl_message_claimed_by(message);
    char until[CLI_WHEN_SIZE];

    cli_page_field("state", cli_view_state_color(state), "%s", pawl_state_name(state));
    print_attempts(message);
    if (state == PAWL_STATE_READY &&
        pawl_message_retries(message) + pawl_message_deferrals(message) > 0)
        cli_page_field("next attempt", CLI_PLAIN, "%s",
                       cli_when_both(pawl_message_next_attempt_at(message), now, until));
    if (state == PAWL_STATE_IN_PROGRESS)
        cli_page_field("held by", CLI_PLAIN, "%s, fence %" PRId64 ", lease ends %s",
                       claimed_by ? claimed_by : "?", pawl_message_fence(message),
                       cli_when_both(pawl_message_lease_until(message), now, until));
    cli_page_text("progress", pawl_message_progress(message));
    cli_page_error(pawl_message_last_error(message));
}

void cli_view_page(const pawl_message *message, pawl_wall now)
{
    char id[PAWL_UUID_TEXT_SIZE];

    cli_page_field("work id", CLI_PLAIN, "%" PRId64, pawl_message_work_id(message).value);
    pawl_message_id_format(pawl_message_get_id(message), id);
    cli_page_field("message id", CLI_PLAIN, "%s", id);
    cli_page_field("topic", CLI_PLAIN, "%s", pawl_message_topic(message));
    if (pawl_message_run_id(message) > 0)
        cli_page_field("job's run", CLI_PLAIN, "%" PRId64, pawl_message_run_id(message));
    print_state(message, now);
    cli_page_field("priority", CLI_PLAIN, "%d", pawl_message_priority(message));
    cli_page_field("type", CLI_PLAIN, "%s", pawl_type_name(pawl_message_type(message)));
    cli_page_text("destination", pawl_message_destination(message));
    cli_page_text("correlation", pawl_message_correlation_id(message));
    cli_page_text("headers", pawl_message_headers(message));
    cli_page_time("created", pawl_message_created_at(message), now);
    cli_page_time("due", pawl_message_due_at(message), now);
    if (pawl_message_state(message) == PAWL_STATE_READY && pawl_message_retries(message) > 0)
        cli_page_time("next attempt", pawl_message_next_attempt_at(message), now);
    cli_page_time("expires", pawl_message_expires_at(message), now);
    cli_page_time("finished", pawl_message_finished_at(message), now);
    cli_page_text("processed by", pawl_message_processed_by(message));
    print_payload(message);
}
