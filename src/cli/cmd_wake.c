/* src/cli/cmd_wake.c - pawl wake: try destinations now. */
#include <stdio.h>

#include <pawl/pawl.h>

#include "cli.h"
#include "database.h"
#include "fail.h"
#include "memory.h"
#include "output.h"

static pawl_status wake_one(const cli_args *args, pawl_store *store, const char *destination,
                            json_t *list, pawl_error *err)
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

static pawl_status run(const cli_args *args, pawl_error *err)
{
    CLI_AUTO(pawl_store) store = NULL;
    pawl_status st;

    if (args->words.count < 1)
        return cli_fail(err, PAWL_E_INVALID,
                        "wake needs a destination, for example "
                        "'pawl wake bank'");
    st = cli_database_open(args, &store, err);
    if (st != PAWL_OK)
        return st;
    json_t *list = json_array();
    for (size_t i = 0; st == PAWL_OK && i < args->words.count; i++)
        st = wake_one(args, store, args->words.items[i], list, err);
    if (st == PAWL_OK && args->common.json)
        cli_json_print(stdout, list);
    else
        json_decref(list);
    return st;
}

const cli_verb cli_verb_wake = {
    .name = "wake",
    .usage = "DESTINATION...",
    .summary = "try destinations now",
    .about = "Messages that wait for another attempt at the destination are due at once, and every "
             "daemon of the database ends the pause of its circuit breaker and sends one message, "
             "within a second; if that succeeds, all others follow. Messages that were sent for "
             "later stay as they are. The attempts made so far stay, too.",
    .examples = "  pawl wake bank\n  pawl wake https://bank.example.org/hook",
    .run = run,
};
