/* src/cli/job_add.c - pawl job add: create a job, or change it. */
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "job.h"
#include "suggest.h"

#define FIRES 3

/* One of a few words; *ret_index says which. NULL is the first. */
static pawl_status read_choice(const char *option, const char *given, const char *const *names,
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
    return cli_fail(err, PAWL_E_INVALID, "--%s must be %s, %s or %s, not '%s'%s%s%s", option,
                    names[0], names[1], names[2], given, nearest.best ? "; did you mean '" : "",
                    nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
}

static pawl_status read_policies(const cli_job_settings *own, pawl_job_definition *job,
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
    pawl_status st = read_choice("misfire", own->misfire, misfires, 3, &misfire, err);

    if (st == PAWL_OK)
        st = read_choice("overlap", own->overlap, overlaps, 3, &overlap, err);
    job->misfire = (pawl_misfire)misfire;
    job->overlap = (pawl_overlap)overlap;
    return st;
}

/* What was not given keeps the library's default; a short lease is renewed three times. */
static void read_numbers(const cli_job_settings *own, pawl_job_definition *job)
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
static pawl_status compose(const cli_args *args, cli_composed *to, pawl_error *err)
{
    const cli_job_settings *own = args->settings;
    const cli_words *given = &args->words;
    const char *items[2] = {own->topic, NULL};
    cli_words words = {items, 1, given->literal_from > 2 ? 2 : 1};

    if (given->count < 2 || given->count > 3)
        return cli_fail(err, PAWL_E_INVALID,
                        "job add needs a name, a schedule and at most one payload, for example "
                        "pawl job add report '0 6 * * *' --topic report%s",
                        given->count > 3 ? " (quote the schedule)" : "");
    if (!own->topic)
        return cli_fail(err, PAWL_E_INVALID,
                        "which topic do its messages have? For example --topic report");
    if (given->count == 3)
        items[words.count++] = given->items[2];
    return cli_compose_read("job add", &own->message, &words, to, err);
}

static void take_message(const pawl_outgoing *message, pawl_job_definition *job)
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

static void print_fires(const pawl_job *job, pawl_wall now)
{
    CLI_AUTO(pawl_schedule) schedule = NULL;
    pawl_fire fires[FIRES];
    size_t count = cli_job_next_fires(job, fires, FIRES, &schedule);
    char local[CLI_FIRE_SIZE];
    char when[CLI_WHEN_SIZE];

    if (schedule)
        printf("It fires %s.\n", pawl_schedule_explain(schedule));
    for (size_t i = 0; i < count; i++)
        printf("%s %s, %s\n", i == 0 ? "Next:" : "     ", cli_job_fire_text(&fires[i], local),
               cli_when_relative(fires[i].at, now, when));
    if (!job->enabled)
        puts("It is disabled; 'pawl job enable' starts it.");
}

static pawl_status print(const cli_args *args, pawl_store *store, const char *name, bool created,
                         pawl_error *err)
{
    const cli_job_settings *own = args->settings;
    CLI_AUTO(pawl_jobs) one = NULL;
    pawl_status st = pawl_job_get(store, name, &one, err);
    json_t *object;

    if (st != PAWL_OK)
        return st;
    if (args->common.json) {
        object = cli_job_json(pawl_jobs_at(one, 0));
        json_object_set_new(object, "created", json_boolean(created));
        cli_json_print(stdout, object);
        return PAWL_OK;
    }
    printf("%s the job '%s'.\n", created ? "Created" : "Changed", name);
    print_fires(pawl_jobs_at(one, 0), pawl_jobs_now(one));
    if (own->disabled && pawl_jobs_at(one, 0)->enabled)
        puts("It existed, and stays enabled; 'pawl job disable' stops it.");
    return PAWL_OK;
}

pawl_status cli_job_add(const cli_args *args, pawl_store *store, pawl_error *err)
{
    const cli_job_settings *own = args->settings;
    CLI_AUTO_COMPOSED composed = {0};
    pawl_job_definition job = PAWL_JOB_DEFINITION_INIT;
    bool created = false;
    pawl_status st = compose(args, &composed, err);

    if (st == PAWL_OK)
        st = read_policies(own, &job, err);
    if (st == PAWL_OK)
        st = cli_compose_complete(store, &composed, err);
    if (st != PAWL_OK)
        return st;
    job.name = args->words.items[0];
    job.schedule = args->words.items[1];
    job.zone = own->zone;
    take_message(&composed.message, &job);
    read_numbers(own, &job);
    st = pawl_job_put(store, &job, &created, err);
    return st == PAWL_OK ? print(args, store, job.name, created, err) : st;
}
