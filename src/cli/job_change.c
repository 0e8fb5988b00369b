/* src/cli/job_change.c - pawl job enable, disable, trigger and rm. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "confirm.h"
#include "fail.h"
#include "job.h"
#include "text.h"

static pawl_status need_names(const char *action, const cli_args *args, pawl_error *err)
{
    if (args->words.count > 0)
        return PAWL_OK;
    return cli_fail(err, PAWL_E_INVALID, "which job? For example 'pawl job %s report'", action);
}

/* ---- enable, disable ---- */

typedef struct switching {
    const char *name;
    pawl_status (*call)(pawl_store *store, const char *name, bool *ret_changed, pawl_error *err);
    const char *done;
    const char *already;
} switching;

static pawl_status switch_jobs(const switching *what, const cli_args *args, pawl_store *store,
                               pawl_error *err)
{
    pawl_status st = need_names(what->name, args, err);
    json_t *array = args->common.json ? json_array() : NULL;

    for (size_t i = 0; i < args->words.count && st == PAWL_OK; i++) {
        const char *name = args->words.items[i];
        bool changed = false;
        st = cli_job_explain(store, name, what->call(store, name, &changed, err), err);
        if (st == PAWL_OK && array) {
            json_t *object = json_object();
            cli_json_text(object, "job", name);
            json_object_set_new(object, "changed", json_boolean(changed));
            json_array_append_new(array, object);
        } else if (st == PAWL_OK) {
            printf("%s %s\n", name, changed ? what->done : what->already);
        }
    }
    if (array && json_array_size(array) > 0) /* what was done is said, whatever came then */
        cli_json_print(stdout, array);
    else
        json_decref(array);
    return st;
}

pawl_status cli_job_enable(const cli_args *args, pawl_store *store, pawl_error *err)
{
    static const switching enable = {"enable", pawl_job_enable, "enabled", "was enabled already"};

    return switch_jobs(&enable, args, store, err);
}

pawl_status cli_job_disable(const cli_args *args, pawl_store *store, pawl_error *err)
{
    static const switching disable = {"disable", pawl_job_disable, "disabled",
                                      "was disabled already"};

    return switch_jobs(&disable, args, store, err);
}

/* ---- trigger ---- */

static void print_triggered(const cli_args *args, const pawl_job_triggered *run)
{
    char id[PAWL_UUID_TEXT_SIZE];
    json_t *object;

    pawl_message_id_format(run->message_id, id);
    if (args->common.json) {
        object = json_object();
        cli_json_number(object, "run_id", run->run_id);
        cli_json_text(object, "message_id", run->waiting ? NULL : id);
        json_object_set_new(object, "waiting", json_boolean(run->waiting));
        cli_json_print(stdout, object);
    } else if (run->waiting) {
        printf("Triggered: run %" PRId64 ", which waits until the others have ended\n",
               run->run_id);
    } else {
        printf("Triggered: run %" PRId64 ", message id %s\n", run->run_id, id);
    }
}

pawl_status cli_job_trigger(const cli_args *args, pawl_store *store, pawl_error *err)
{
    const cli_job_settings *own = args->settings;
    pawl_job_trigger_options options = PAWL_JOB_TRIGGER_OPTIONS_INIT;
    pawl_job_triggered run;
    const char *name = NULL;
    pawl_status st = cli_job_name("trigger", args, &name, err);

    options.force = own->force;
    if (st == PAWL_OK)
        st = cli_job_explain(store, name, pawl_job_trigger(store, name, &options, &run, err), err);
    if (st == PAWL_OK)
        print_triggered(args, &run);
    if (st == PAWL_E_IN_DOUBT)
        return cli_fail(
            err, st,
            "the database did not answer whether it made the run; 'pawl job runs %.100s' "
            "tells",
            name);
    return st;
}

/* ---- rm ---- */

/* All of them have to be there before one is removed; how many runs will be cancelled or go on. */
static pawl_status count_unfinished(const cli_args *args, pawl_store *store, int *ret_unfinished,
                                    pawl_error *err)
{
    *ret_unfinished = 0;
    for (size_t i = 0; i < args->words.count; i++) {
        CLI_AUTO(pawl_jobs) one = NULL;
        const char *name = args->words.items[i];
        pawl_status st = cli_job_explain(store, name, pawl_job_get(store, name, &one, err), err);
        if (st != PAWL_OK)
            return st;
        *ret_unfinished += pawl_jobs_at(one, 0)->unfinished;
    }
    return PAWL_OK;
}

static void show_removal(const cli_args *args, int unfinished)
{
    size_t count = args->words.count;

    if (args->common.json) {
        json_t *names = json_array();
        for (size_t i = 0; i < count; i++)
            json_array_append_new(names, json_string(args->words.items[i]));
        cli_json_print(stdout, json_pack("{s:b, s:o, s:i}", "dry_run", 1, "jobs", names,
                                         "unfinished", unfinished));
        return;
    }
    printf("%zu job%s would be removed, with %s history (%d run%s not ended).\n", count,
           count == 1 ? "" : "s", count == 1 ? "its" : "their", unfinished,
           unfinished == 1 ? " has" : "s have");
}

static pawl_status ask(const cli_args *args, int unfinished, pawl_error *err)
{
    const char *first = args->words.items[0];
    size_t count = args->words.count;
    CLI_AUTO_FREE char *name = cli_text_clean(first, strlen(first), true);
    CLI_AUTO_FREE char *which = count == 1 ? cli_print("the job '%s' and its history", name)
                                           : cli_print("%zu jobs and their history", count);
    CLI_AUTO_FREE char *question = cli_print("Remove %s (%d run%s not ended)?", which, unfinished,
                                             unfinished == 1 ? " has" : "s have");

    if (cli_confirm(question))
        return PAWL_OK;
    return cli_fail(err, PAWL_E_EMPTY, "nothing was changed");
}

static pawl_status remove_jobs(const cli_args *args, pawl_store *store, pawl_error *err)
{
    json_t *array = args->common.json ? json_array() : NULL;
    pawl_status st = PAWL_OK;

    for (size_t i = 0; i < args->words.count && st == PAWL_OK; i++) {
        const char *name = args->words.items[i];
        size_t cancelled = 0;
        st = cli_job_explain(store, name, pawl_job_delete(store, name, &cancelled, err), err);
        if (st == PAWL_OK && array) {
            json_t *object = json_object();
            cli_json_text(object, "job", name);
            cli_json_number(object, "cancelled", (long long)cancelled);
            json_array_append_new(array, object);
        } else if (st == PAWL_OK) {
            printf("%s removed, %zu run%s cancelled\n", name, cancelled, cancelled == 1 ? "" : "s");
        }
    }
    if (array)
        cli_json_print(stdout, array);
    return st;
}

pawl_status cli_job_rm(const cli_args *args, pawl_store *store, pawl_error *err)
{
    const cli_job_settings *own = args->settings;
    int unfinished = 0;
    pawl_status st = need_names("rm", args, err);

    if (st == PAWL_OK && !own->yes && !own->dry_run)
        st = cli_confirm_possible("job rm", err);
    if (st == PAWL_OK)
        st = count_unfinished(args, store, &unfinished, err);
    if (st == PAWL_OK && own->dry_run) {
        show_removal(args, unfinished);
        return PAWL_OK;
    }
    if (st == PAWL_OK && !own->yes)
        st = ask(args, unfinished, err);
    return st == PAWL_OK ? remove_jobs(args, store, err) : st;
}
