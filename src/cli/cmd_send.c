/* src/cli/cmd_send.c - pawl send: store a message. */
#include <inttypes.h>
#include <stdio.h>

#include "cli.h"
#include "compose.h"
#include "database.h"
#include "output.h"

static void print(const cli_args *args, const pawl_enqueued *stored)
{
    char id[PAWL_UUID_TEXT_SIZE];
    json_t *document;

    pawl_message_id_format(stored->message_id, id);
    if (!args->common.json) {
        printf("%s work id %" PRId64 ", message id %s\n",
               stored->existed ? "Already there:" : "Sent:", stored->work_id.value, id);
        return;
    }
    document = json_object();
    cli_json_number(document, "work_id", stored->work_id.value);
    cli_json_text(document, "message_id", id);
    json_object_set_new(document, "existed", json_boolean(stored->existed));
    cli_json_print(stdout, document);
}

static pawl_status run(const cli_args *args, pawl_error *err)
{
    CLI_AUTO(pawl_store) store = NULL;
    CLI_AUTO_COMPOSED composed = {0};
    pawl_enqueued stored;
    pawl_status st = cli_compose_read("send", args->settings, &args->words, &composed, err);

    if (st == PAWL_OK)
        st = cli_database_open(args, &store, err);
    if (st == PAWL_OK)
        st = cli_compose_complete(store, &composed, err);
    if (st == PAWL_OK)
        st = cli_compose_explain(&composed,
                                 pawl_outbox_enqueue(store, &composed.message, &stored, err), err);
    if (st == PAWL_OK)
        print(args, &stored);
    return st;
}

static const cli_option options[] = {CLI_COMPOSE_OPTIONS(0)};
static const cli_exit exits[] = {
    {PAWL_E_CONFLICT, "the id exists with another topic or payload, or the payload is too large"},
    {PAWL_E_IN_DOUBT, "stored or not, unknown; send again with the --id in the message"},
};

const cli_verb cli_verb_send = {
    .name = "send",
    .usage = "TOPIC [PAYLOAD | -]",
    .summary = "store a message for a worker, now or later",
    .about = "The payload is the second word, or with '-' whatever is on stdin, byte for byte; "
             "without one it is empty. When the program exits with 0, the message is committed.",
    .examples = "  pawl send mail '{\"to\": \"ann@example.org\"}' --priority 5\n"
                "  pawl send report --at 2026-01-01T09:00+01:00 --header lang=de\n"
                "  pawl send picture - --expires 'in 1h' < picture.png",
    .options = options,
    .option_count = CLI_COUNT(options),
    .settings_size = sizeof(cli_compose),
    .exits = exits,
    .exit_count = CLI_COUNT(exits),
    .run = run,
};
