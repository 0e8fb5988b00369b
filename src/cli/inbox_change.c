/* src/cli/inbox_change.c - pawl inbox requeue and purge: dead records, by key or all of them. */
#include <stdio.h>

#include "confirm.h"
#include "fail.h"
#include "inbox.h"

typedef struct change {
    const char *name;     /* "requeue" */
    const char *question; /* with a place for "of shop" */
    const char *done;
    const char *would; /* "3 messages would be ..." */
    pawl_status (*call)(pawl_store *store, const char *source, const char *id, size_t *ret_changed,
                        pawl_error *err);
} change;

/* All of them, or all of a source: more than was looked at, so somebody is asked. */
static pawl_status ask(const change *what, const cli_inbox_settings *own, pawl_error *err)
{
    char question[400];
    pawl_status st;

    if (own->yes)
        return PAWL_OK;
    st = cli_confirm_possible(what->name, err);
    if (st != PAWL_OK)
        return st;
    snprintf(question, sizeof question, "%s all dead messages%s%s?", what->question,
             own->source ? " of " : "", own->source ? own->source : "");
    if (!cli_confirm(question))
        return cli_fail(err, PAWL_E_EMPTY, "nothing was changed");
    return PAWL_OK;
}

/* How many are dead of those; of one, 0 or 1. */
static pawl_status count_dead(pawl_store *store, const char *source, const char *id,
                              size_t *ret_count, pawl_error *err)
{
    CLI_AUTO(pawl_inbox_records) one = NULL;
    pawl_inbox_filter filter = PAWL_INBOX_FILTER_INIT;
    pawl_status st = PAWL_OK;

    *ret_count = 0;
    if (id) {
        st = pawl_inbox_get(store, source, id, &one, err);
        if (st == PAWL_OK)
            *ret_count = pawl_inbox_records_at(one, 0)->state == PAWL_INBOX_DEAD;
        return st == PAWL_E_NOT_FOUND ? PAWL_OK : st;
    }
    filter.states = 1u << PAWL_INBOX_DEAD;
    filter.source = source;
    filter.limit = 1000;
    do {
        CLI_AUTO(pawl_inbox_records) page = NULL;
        st = pawl_inbox_list(store, &filter, &page, &filter.before, err);
        *ret_count += st == PAWL_OK ? pawl_inbox_records_count(page) : 0;
    } while (st == PAWL_OK && filter.before != 0);
    return st;
}

static void report(const change *what, const cli_args *args, size_t count, bool dry_run)
{
    if (args->common.json && dry_run)
        cli_json_print(stdout,
                       json_pack("{s:b, s:I}", "dry_run", 1, "matching", (json_int_t)count));
    else if (args->common.json)
        cli_json_print(stdout, json_pack("{s:I}", "changed", (json_int_t)count));
    else if (dry_run)
        printf("%zu message%s would be %s\n", count, count == 1 ? "" : "s", what->would);
    else
        printf("%s %zu message%s\n", what->done, count, count == 1 ? "" : "s");
}

static pawl_status change_dead(const change *what, const cli_args *args, pawl_store *store,
                               pawl_error *err)
{
    const cli_inbox_settings *own = args->settings;
    bool by_key = args->words.count == 3;
    const char *source = by_key ? args->words.items[1] : own->source;
    const char *id = by_key ? args->words.items[2] : NULL;
    size_t changed = 0;
    pawl_status st;

    if ((args->words.count != 1 && !by_key) || by_key == (own->all || own->source))
        return cli_fail(err, PAWL_E_INVALID,
                        "which messages? Say 'pawl inbox %s SOURCE ID', or give --source or --all",
                        what->name);
    st = by_key || own->dry_run ? PAWL_OK : ask(what, own, err);
    if (st == PAWL_OK && own->dry_run)
        st = count_dead(store, source, id, &changed, err);
    else if (st == PAWL_OK)
        st = what->call(store, source, id, &changed, err);
    if (st != PAWL_OK)
        return st;
    if (by_key && changed == 0)
        return cli_fail(err, PAWL_E_EMPTY, "there is no dead message %s of %s", id, source);
    report(what, args, changed, own->dry_run);
    return PAWL_OK;
}

pawl_status cli_inbox_requeue(const cli_args *args, pawl_store *store, pawl_error *err)
{
    static const change requeue = {"requeue", "Requeue", "requeued", "requeued",
                                   pawl_inbox_requeue};

    return change_dead(&requeue, args, store, err);
}

pawl_status cli_inbox_purge(const cli_args *args, pawl_store *store, pawl_error *err)
{
    static const change purge = {"purge", "Forget", "forgot", "forgotten", pawl_inbox_purge};

    return change_dead(&purge, args, store, err);
}
