/* src/cli/commands/job_change.c - pawl job add, enable, disable, trigger and rm. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd_job.h"
#include "console.h"
#include "fail.h"
#include "scope.h"
#include "terminal_text.h"

#define FIRES 3

/* One of a few words; *ret_index says which. NULL is the first. */
static pawl_status read_policy_name(const char *option, const char *given, const char *const *names,
                                    int count, int *ret_index, pawl_error *err)
{
    cli_suggestion nearest = {given, NULL, 0};

    *ret_index = 0;
    for (int i = 0; given && i < count; i++) {
        *ret_index = i;
        if (strcmp(given, names[i]) == 0)
            return PAWL_OK;
        cli_suggest(&nearest, names[i]);
    }
    if (!given)
        return PAWL_OK;
    PAWLI_AUTO_FREE char *hint = cli_suggestion_text(&nearest);
    return pawli_fail(err, PAWL_E_INVALID, "--%s must be %s, %s or %s, not '%s'%s", option,
                      names[0], names[1], names[2], given, hint);
}

static pawl_status read_job_policies(const cli_job_settings *own, pawl_job_definition *job,
                                     pawl_error *err)
{
    const char *const misfires[] = {pawl_misfire_name(PAWL_MISFIRE_ONCE),
                                    pawl_misfire_name(PAWL_MISFIRE_ALL),
                                    pawl_misfire_name(PAWL_MISFIRE_SKIP)};
    const char *const overlaps[] = {pawl_overlap_name(PAWL_OVERLAP_SKIP),
                                    pawl_overlap_name(PAWL_OVERLAP_ALLOW),
                                    pawl_overlap_name(PAWL_OVERLAP_QUEUE)};
    int misfire = 0;
    int overlap = 0;
    pawl_status st = read_policy_name("misfire", own->misfire, misfires, 3, &misfire, err);

    if (st == PAWL_OK)
        st = read_policy_name("overlap", own->overlap, overlaps, 3, &overlap, err);
    job->misfire = (pawl_misfire)misfire;
    job->overlap = (pawl_overlap)overlap;
    return st;
}

/* What was not given keeps the library's default; a short lease is renewed three times. */
static void read_job_numbers(const cli_job_settings *own, pawl_job_definition *job)
{
    if (own->misfire_cap)
        job->misfire_cap = (int)own->misfire_cap;
    if (own->misfire_grace_ms != CLI_JOB_GRACE_NOT_GIVEN)
        job->misfire_grace_ms = own->misfire_grace_ms;
    job->jitter_ms = own->jitter_ms;
    job->ttl_ms = own->ttl_ms;
    job->timeout_ms = own->run_timeout_ms;
    if (own->message.lease_ms)
        job->lease_ms = own->message.lease_ms;
    if (own->heartbeat_ms)
        job->heartbeat_ms = own->heartbeat_ms;
    else if (job->heartbeat_ms > job->lease_ms / 3)
        job->heartbeat_ms = job->lease_ms / 3;
    if (own->keep)
        job->keep_runs = (int)own->keep;
    job->keep_ms = own->keep_for_ms;
    job->disabled = own->disabled;
}

/* NAME SCHEDULE [PAYLOAD | -]: the message is composed as `pawl send TOPIC PAYLOAD` would be. */
static pawl_status compose_job_message(const cli_args *args, cli_composed *to, pawl_error *err)
{
    const cli_job_settings *own = args->settings;
    const cli_words *given = &args->words;
    const char *items[2] = {own->topic, NULL};
    cli_words words = {items, 1, given->literal_from > 2 ? 2 : 1};

    if (given->count < 2 || given->count > 3)
        return pawli_fail(err, PAWL_E_INVALID,
                          "job add needs a name, a schedule and at most one payload, for example "
                          "pawl job add report '0 6 * * *' --topic report%s",
                          given->count > 3 ? " (quote the schedule)" : "");
    if (!own->topic)
        return pawli_fail(err, PAWL_E_INVALID, "no topic given; for example --topic report");
    if (given->count == 3)
        items[words.count++] = given->items[2];
    return cli_compose_read("job add", &own->message, &words, to, err);
}

static void set_job_message(const pawl_message_spec *message, pawl_job_definition *job)
{
    job->topic = message->topic;
    job->payload = message->payload;
    job->payload_size = message->payload_size;
    job->type = message->type;
    job->destination = message->destination;
    job->headers = message->headers;
    job->correlation_id = message->correlation_id;
    job->priority = message->priority;
    job->max_attempts = message->max_attempts;
}

static void print_next_fires(const pawl_job *job, pawl_wall now)
{
    PAWLI_AUTO(pawl_schedule) schedule = NULL;
    pawl_occurrence fires[FIRES];
    size_t count = cli_job_next_fires(job, fires, FIRES, &schedule);
    char local[CLI_FIRE_SIZE];

    if (schedule)
        printf("It fires %s.\n", pawl_schedule_describe(schedule));
    for (size_t i = 0; i < count; i++)
        printf("%s %s, %s\n", i == 0 ? "Next:" : "     ", cli_job_fire_text(&fires[i], local),
               cli_when_relative(fires[i].at, now, CLI_ROOM));
    if (!job->enabled)
        puts("The job is disabled; 'pawl job enable' enables it.");
}

static pawl_status print_job(const cli_args *args, pawl_store *store, const char *name,
                             bool created, pawl_error *err)
{
    const cli_job_settings *own = args->settings;
    PAWLI_AUTO(pawl_jobs) one = NULL;
    pawl_status st = pawl_job_get(store, name, &one, err);
    json_t *object;

    if (st != PAWL_OK)
        return st;
    if (args->common.json) {
        object = cli_noun_json(&cli_job_noun, pawl_jobs_at(one, 0));
        json_object_set_new(object, "created", json_boolean(created));
        cli_json_print(stdout, object);
        return PAWL_OK;
    }
    printf("%s the job '%s'.\n", created ? "Created" : "Changed", name);
    print_next_fires(pawl_jobs_at(one, 0), pawl_jobs_now(one));
    if (own->disabled && pawl_jobs_at(one, 0)->enabled)
        puts("The job existed and stays enabled; 'pawl job disable' disables it.");
    return PAWL_OK;
}

pawl_status cli_job_add(const cli_args *args, pawl_store *store, pawl_error *err)
{
    const cli_job_settings *own = args->settings;
    CLI_AUTO_COMPOSED composed = {0};
    pawl_job_definition job = PAWL_JOB_DEFINITION_INIT;
    bool created = false;
    pawl_status st = compose_job_message(args, &composed, err);

    if (st == PAWL_OK)
        st = read_job_policies(own, &job, err);
    if (st == PAWL_OK)
        st = cli_compose_complete(store, &composed, err);
    if (st != PAWL_OK)
        return st;
    job.name = args->words.items[0];
    job.schedule = args->words.items[1];
    job.zone = own->zone;
    set_job_message(&composed.message, &job);
    read_job_numbers(own, &job);
    st = pawl_job_put(store, &job, &created, err);
    return st == PAWL_OK ? print_job(args, store, job.name, created, err) : st;
}

static pawl_status check_job_names(const char *action, const cli_args *args, pawl_error *err)
{
    if (args->words.count > 0)
        return PAWL_OK;
    return pawli_fail(err, PAWL_E_INVALID, "no job given; for example 'pawl job %s report'",
                      action);
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
    pawl_status st = check_job_names(what->name, args, err);
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
    if (array &&
        json_array_size(array) > 0) /* report completed changes even if a later one failed */
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

    pawl_uuid_format(run->message_id, id);
    if (args->common.json) {
        object = json_object();
        cli_json_number(object, "run_id", run->run_id);
        cli_json_text(object, "message_id", run->waiting ? NULL : id);
        json_object_set_new(object, "waiting", json_boolean(run->waiting));
        cli_json_print(stdout, object);
    } else if (run->waiting) {
        printf("Triggered: run %" PRId64 ", which waits until the other runs have finished\n",
               run->run_id);
    } else {
        printf("Triggered: run %" PRId64 ", message id %s\n", run->run_id, id);
    }
}

pawl_status cli_job_trigger(const cli_args *args, pawl_store *store, pawl_error *err)
{
    const cli_job_settings *own = args->settings;
    pawl_job_trigger_options options = PAWL_JOB_TRIGGER_OPTIONS_INIT;
    pawl_job_triggered run = PAWL_JOB_TRIGGERED_INIT;
    const char *name = NULL;
    pawl_status st = cli_job_name("trigger", args, &name, err);

    options.force = own->force;
    if (st == PAWL_OK)
        st = cli_job_explain(store, name, pawl_job_trigger(store, name, &options, &run, err), err);
    if (st == PAWL_OK)
        print_triggered(args, &run);
    if (st == PAWL_E_IN_DOUBT)
        return pawli_fail(
            err, st,
            "the database did not confirm whether it created the run; 'pawl job runs %.100s' "
            "tells",
            name);
    return st;
}

/* ---- rm ---- */

/* All of them must exist before one is removed. Counts the runs that will be cancelled or continue.
 */
static pawl_status count_unfinished(const cli_args *args, pawl_store *store, int *ret_unfinished,
                                    pawl_error *err)
{
    *ret_unfinished = 0;
    for (size_t i = 0; i < args->words.count; i++) {
        PAWLI_AUTO(pawl_jobs) one = NULL;
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
    printf("%zu job%s would be removed, with %s history (%d unfinished run%s).\n", count,
           count == 1 ? "" : "s", count == 1 ? "its" : "their", unfinished,
           unfinished == 1 ? "" : "s");
}

static pawl_status confirm_removal(const cli_args *args, int unfinished, pawl_error *err)
{
    const char *first = args->words.items[0];
    size_t count = args->words.count;
    PAWLI_AUTO_FREE char *name = cli_text_clean(first, strlen(first), true);
    PAWLI_AUTO_FREE char *which = count == 1 ? cli_print("the job '%s' and its history", name)
                                             : cli_print("%zu jobs and their history", count);
    PAWLI_AUTO_FREE char *question = cli_print("Remove %s (%d unfinished run%s)?", which,
                                               unfinished, unfinished == 1 ? "" : "s");

    if (cli_confirm(question))
        return PAWL_OK;
    return pawli_fail(err, PAWL_E_EMPTY, "nothing was changed");
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
    pawl_status st = check_job_names("rm", args, err);

    if (st == PAWL_OK && !own->yes && !own->dry_run)
        st = cli_confirm_possible("job rm", err);
    if (st == PAWL_OK)
        st = count_unfinished(args, store, &unfinished, err);
    if (st == PAWL_OK && own->dry_run) {
        show_removal(args, unfinished);
        return PAWL_OK;
    }
    if (st == PAWL_OK && !own->yes)
        st = confirm_removal(args, unfinished, err);
    return st == PAWL_OK ? remove_jobs(args, store, err) : st;
}
