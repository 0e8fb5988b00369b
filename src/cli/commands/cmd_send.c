/* src/cli/commands/cmd_send.c - pawl send and pawl wake: store a message; try destinations now. */
#include <inttypes.h>
#include <stdio.h>

#include <pawl/pawl.h>

#include "cli.h"
#include "compose.h"
#include "console.h"
#include "database.h"
#include "fail.h"
#include "alloc.h"
#include "scope.h"

static void print_sent(const cli_args *args, const pawl_enqueued *stored)
{
    char id[PAWL_UUID_TEXT_SIZE];
    json_t *document;

    pawl_uuid_format(stored->message_id, id);
    if (!args->common.json) {
        printf("%s work id %" PRId64 ", message id %s\n",
               stored->existed ? "Exists:" : "Sent:", stored->work_id.value, id);
        return;
    }
    document = json_object();
    cli_json_number(document, "work_id", stored->work_id.value);
    cli_json_text(document, "message_id", id);
    json_object_set_new(document, "existed", json_boolean(stored->existed));
    cli_json_print(stdout, document);
}

static pawl_status run_send(const cli_args *args, pawl_error *err)
{
    PAWLI_AUTO(pawl_store) store = NULL;
    CLI_AUTO_COMPOSED composed = {0};
    pawl_enqueued stored = {0};
    pawl_status st = cli_compose_read("send", args->settings, &args->words, &composed, err);

    if (st == PAWL_OK)
        st = cli_database_open(args, &store, err);
    if (st == PAWL_OK)
        st = cli_compose_complete(store, &composed, err);
    if (st == PAWL_OK)
        st = pawl_outbox_enqueue(store, &composed.message, &stored, err);
    if (st == PAWL_OK)
        print_sent(args, &stored);
    return cli_compose_explain(stored.message_id, st, err);
}

static const cli_option send_options[] = {CLI_COMPOSE_OPTIONS(0, 0, 0)};
static const cli_exit send_exits[] = {
    {PAWL_E_CONFLICT, "the id exists with another topic or payload, or the payload is too large"},
    {PAWL_E_IN_DOUBT,
     "in doubt: it may have been stored; send it again with the --id from the error "
     "message"},
};

const cli_verb cli_verb_send = {
    .name = "send",
    .usage = "TOPIC [PAYLOAD | -]",
    .summary = "enqueue a message, due now or later",
    .about = "The payload is the second argument; '-' reads it from stdin, byte for byte; "
             "without one it is empty. When the program exits with 0, the message is "
             "committed.",
    .examples = "  pawl send mail '{\"to\": \"ann@example.org\"}' --priority 5\n"
                "  pawl send report --at 2026-01-01T09:00+01:00 --header lang=de\n"
                "  pawl send picture - --expires 'in 1h' < picture.png",
    .options = send_options,
    .option_count = PAWLI_COUNT(send_options),
    .settings_size = sizeof(cli_compose),
    .exits = send_exits,
    .exit_count = PAWLI_COUNT(send_exits),
    .run = run_send,
};

static pawl_status wake_destination(const cli_args *args, pawl_store *store,
                                    const char *destination, json_t *list, pawl_error *err)
{
    size_t changed = 0;
    pawl_status st = pawl_queue_wake(store, destination, &changed, err);

    if (st != PAWL_OK)
        return st;
    if (args->common.json) {
        json_t *object = json_object();
        cli_json_text(object, "destination", destination);
        cli_json_number(object, "due", (int64_t)changed);
        json_array_append_new(list, object);
    } else {
        printf("%s: %zu message%s due now\n", destination, changed, changed == 1 ? " is" : "s are");
    }
    return PAWL_OK;
}

static pawl_status run_wake(const cli_args *args, pawl_error *err)
{
    PAWLI_AUTO(pawl_store) store = NULL;
    pawl_status st;

    if (args->words.count < 1)
        return pawli_fail(err, PAWL_E_INVALID,
                          "no destination given; for example 'pawl wake bank'");
    st = cli_database_open(args, &store, err);
    if (st != PAWL_OK)
        return st;
    json_t *list = json_array();
    for (size_t i = 0; st == PAWL_OK && i < args->words.count; i++)
        st = wake_destination(args, store, args->words.items[i], list, err);
    if (st == PAWL_OK && args->common.json)
        cli_json_print(stdout, list);
    else
        json_decref(list);
    return st;
}

const cli_verb cli_verb_wake = {
    .name = "wake",
    .usage = "DESTINATION...",
    .summary = "retry deferred messages to a destination now",
    .about = "Makes messages that wait for their next attempt to the destination due now. "
             "Within a second every daemon of the database half-opens its circuit breaker and "
             "sends one message; if that succeeds, the others follow. Messages that are "
             "scheduled for later do not change, and neither do the attempts made so far.",
    .examples = "  pawl wake bank\n  pawl wake https://bank.example.org/hook",
    .run = run_wake,
};
