/* src/cli/cmd_show.c - pawl show: everything about one message. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "database.h"
#include "fail.h"
#include "output.h"
#include "selection.h"
#include "show.h"
#include "view.h"

typedef struct settings {
    bool payload;
} settings;

static pawl_status print(const cli_args *args, bool payload_only, pawl_store *store,
                         const pawl_message *message, pawl_error *err)
{
    pawl_wall now;
    json_t *document;
    pawl_status st;

    if (payload_only) {
        size_t size;
        const void *payload = pawl_message_payload(message, &size);
        fwrite(payload, 1, size, stdout);
        return PAWL_OK;
    }
    if (args->common.json) {
        document = cli_view_json(message);
        cli_view_json_payload(document, message);
        cli_json_print(stdout, document);
        return PAWL_OK;
    }
    st = pawl_store_now(store, &now, err);
    if (st == PAWL_OK)
        cli_view_page(message, now);
    return st;
}

pawl_status cli_show_one(const char *verb, const cli_args *args, bool payload_only, pawl_error *err)
{
    CLI_AUTO(pawl_store) store = NULL;
    CLI_AUTO(pawl_messages) one = NULL;
    cli_id id;
    pawl_status st;

    if (args->words.count != 1)
        return cli_fail(err, PAWL_E_INVALID,
                        "%s needs one work id or message id, for example 'pawl %s 12'", verb, verb);
    if (payload_only && args->common.json)
        return cli_fail(err, PAWL_E_INVALID,
                        "--payload writes raw bytes and --json a document; choose one");
    st = cli_id_parse(args->words.items[0], &id, err);
    if (st != PAWL_OK)
        return st;
    st = cli_database_open(args, &store, err);
    if (st != PAWL_OK)
        return st;
    st = cli_id_find(store, &id, &one, err);
    if (st != PAWL_OK)
        return st;
    return print(args, payload_only, store, pawl_messages_at(one, 0), err);
}

static pawl_status run(const cli_args *args, pawl_error *err)
{
    const settings *own = args->settings;

    return cli_show_one("show", args, own->payload, err);
}

static const cli_option options[] = {
    {"payload", NULL, "write the payload's bytes to stdout, and nothing else", CLI_FLAG, 0,
     offsetof(settings, payload), 0, 0},
};
static const cli_exit exits[] = {{PAWL_E_NOT_FOUND, "there is no such message"}};

const cli_verb cli_verb_show = {
    .name = "show",
    .usage = "ID",
    .summary = "everything about one message",
    .about = "A number is a work id, a UUID a message id. The payload is shown if it is text; "
             "otherwise its size and first bytes are.",
    .examples = "  pawl show 12\n"
                "  pawl show 0192d3c4-7b1e-7c3a-9f57-3b1f6f0c2a11 --json\n"
                "  pawl show 12 --payload > picture.png",
    .options = options,
    .option_count = CLI_COUNT(options),
    .settings_size = sizeof(settings),
    .exits = exits,
    .exit_count = CLI_COUNT(exits),
    .run = run,
};
