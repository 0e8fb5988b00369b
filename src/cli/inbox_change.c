/* src/cli/inbox_change.c - pawl inbox requeue and purge: dead records, by key or all of them. */
#include <stdio.h>

#include "confirm.h"
#include "fail.h"
#include "inbox.h"

typedef struct change {
    const char *name;     /* "requeue" */
    const char *question; /* with a place for "of shop" */
    const char *done;
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
    st = by_key ? PAWL_OK : ask(what, own, err);
    if (st == PAWL_OK)
        st = what->call(store, source, id, &changed, err);
    if (st != PAWL_OK)
        return st;
    if (by_key && changed == 0)
        return cli_fail(err, PAWL_E_EMPTY, "there is no dead message %s of %s", id, source);
    if (args->common.json) {
        json_t *object = json_object();
        cli_json_number(object, "changed", (long long)changed);
        cli_json_print(stdout, object);
    } else {
        printf("%s %zu message%s\n", what->done, changed, changed == 1 ? "" : "s");
    }
    return PAWL_OK;
}

pawl_status cli_inbox_requeue(const cli_args *args, pawl_store *store, pawl_error *err)
{
    static const change requeue = {"requeue", "Requeue", "requeued", pawl_inbox_requeue};

    return change_dead(&requeue, args, store, err);
}

pawl_status cli_inbox_purge(const cli_args *args, pawl_store *store, pawl_error *err)
{
    static const change purge = {"purge", "Forget", "forgot", pawl_inbox_purge};

    return change_dead(&purge, args, store, err);
}
