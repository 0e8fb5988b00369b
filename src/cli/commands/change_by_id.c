/* src/cli/commands/change_by_id.c - changing messages that are named one by one. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd_change.h"
#include "console.h"
#include "database.h"
#include "fail.h"
#include "scope.h"
#include "selection.h"

typedef enum change_outcome { CHANGED, UNCHANGED, MISSING } change_outcome;

typedef struct named_message {
    cli_id id;
    change_outcome outcome;
    int64_t work_id;  /* 0: not known */
    pawl_state state; /* before; not known for MISSING */
} named_message;

static pawl_status parse_ids(const cli_args *args, named_message *list, pawl_error *err)
{
    pawl_status st = PAWL_OK;

    for (size_t i = 0; st == PAWL_OK && i < args->words.count; i++)
        st = cli_id_parse(args->words.items[i], &list[i].id, err);
    return st;
}

/* Reads the message first: for its state in the report, and for the work id of a message id. */
static pawl_status look_up_message(const cli_change *change, pawl_store *store, named_message *item,
                                   pawl_error *err)
{
    PAWLI_AUTO(pawl_messages) one = NULL;
    pawl_status st = cli_id_find(store, &item->id, &one, err);

    if (st == PAWL_E_NOT_FOUND) {
        item->outcome = MISSING;
        return PAWL_OK;
    }
    if (st != PAWL_OK)
        return st;
    item->work_id = pawl_message_work_id(pawl_messages_at(one, 0)).value;
    item->state = pawl_message_state(pawl_messages_at(one, 0));
    item->outcome = change->allowed & 1u << item->state ? CHANGED : UNCHANGED;
    return PAWL_OK;
}

static pawl_status apply_by_id(const cli_change *change, pawl_store *store, named_message *item,
                               pawl_error *err)
{
    pawl_work_id id = {item->work_id};
    size_t changed = 0;
    pawl_status st;

    if (item->outcome != CHANGED)
        return PAWL_OK;
    st = change->by_id(store, &id, 1, &changed, err);
    if (st != PAWL_OK || changed > 0)
        return st;
    return look_up_message(change, store, item,
                           err); /* another process was faster: report the new state */
}

static void print_change_line(const cli_change *change, const named_message *item, bool dry_run)
{
    char allowed[80];

    cli_states_text(change->allowed, allowed, sizeof allowed);
    if (item->outcome == CHANGED)
        printf("%s%s %s (was %s)\n", dry_run ? "would be " : "", change->done, item->id.text,
               pawl_state_name(item->state));
    else if (item->outcome == UNCHANGED)
        fprintf(stderr, "not %s: %s is %s, and %s works on %s.\n", change->done, item->id.text,
                pawl_state_name(item->state), change->verb, allowed);
    else
        fprintf(stderr, "not %s: message %s does not exist (it may have been purged).\n",
                change->done, item->id.text);
}

static void print_changes_json(const cli_change *change, const named_message *list, size_t count,
                               bool dry_run)
{
    static const char *const names[] = {"changed", "unchanged", "not_found"};
    json_t *document = json_object();
    json_t *array = json_array();
    size_t changed = 0;

    for (size_t i = 0; i < count; i++) {
        json_t *object = json_object();
        changed += list[i].outcome == CHANGED;
        cli_json_text(object, "id", list[i].id.text);
        json_object_set_new(object, "work_id",
                            list[i].work_id ? json_integer(list[i].work_id) : json_null());
        cli_json_text(object, "result", names[list[i].outcome]);
        cli_json_text(object, "state",
                      list[i].outcome == MISSING ? NULL : pawl_state_name(list[i].state));
        json_array_append_new(array, object);
    }
    cli_json_text(document, "verb", change->verb);
    json_object_set_new(document, "dry_run", json_boolean(dry_run));
    cli_json_number(document, "changed", (long long)changed);
    json_object_set_new(document, "messages", array);
    cli_json_print(stdout, document);
}

/* For people every id had its line already; for programs the error sums it up. */
static pawl_status summarize_changes(const cli_change *change, const cli_args *args,
                                     const named_message *list, pawl_error *err)
{
    size_t count = args->words.count;
    size_t missing = 0;
    size_t unchanged = 0;
    pawl_error unsaid;

    for (size_t i = 0; i < count; i++) {
        missing += list[i].outcome == MISSING;
        unchanged += list[i].outcome == UNCHANGED;
    }
    if (!args->common.json)
        err = &unsaid;
    if (missing > 0)
        return pawli_fail(err, PAWL_E_NOT_FOUND, "%zu of %zu messages not found", missing, count);
    if (unchanged > 0)
        return pawli_fail(err, PAWL_E_EMPTY, "%zu of %zu messages not %s", unchanged, count,
                          change->done);
    return PAWL_OK;
}

static bool confirm_by_id(const cli_change *change, const named_message *list, size_t count)
{
    PAWLI_AUTO_FREE char *question = NULL;
    size_t possible = 0;

    for (size_t i = 0; i < count; i++)
        possible += list[i].outcome == CHANGED;
    if (possible == 0)
        return true; /* nothing will change: no question, the report gives the reason */
    question = cli_print("%s %zu message%s?", change->title, possible, possible == 1 ? "" : "s");
    return cli_confirm(question);
}

pawl_status cli_change_ids(const cli_change *change, const cli_args *args, pawl_error *err)
{
    const cli_change_settings *own = args->settings;
    size_t count = args->words.count;
    PAWLI_AUTO_FREE named_message *list = cli_alloc(count, sizeof *list);
    PAWLI_AUTO(pawl_store) store = NULL;
    pawl_status st = parse_ids(args, list, err);

    if (st == PAWL_OK)
        st = cli_database_open(args, &store, err);
    for (size_t i = 0; st == PAWL_OK && i < count; i++)
        st = look_up_message(change, store, &list[i], err);
    if (st != PAWL_OK)
        return st;
    if (!own->dry_run && !own->yes && !confirm_by_id(change, list, count))
        return pawli_fail(err, PAWL_E_EMPTY, "nothing was changed");
    for (size_t i = 0; st == PAWL_OK && i < count; i++) {
        if (!own->dry_run)
            st = apply_by_id(change, store, &list[i], err);
        if (st == PAWL_OK && !args->common.json)
            print_change_line(change, &list[i], own->dry_run);
    }
    if (st != PAWL_OK)
        return st;
    if (args->common.json)
        print_changes_json(change, list, count, own->dry_run);
    return summarize_changes(change, args, list, err);
}
