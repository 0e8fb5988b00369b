/*
 * tests/soak/soak_use_helper.c - a process that uses what is not a message: leases, inbox, jobs.
 *
 * soak_use_helper URL SCHEMA PREFIX ROLE RATE [FIRST]: so many a second, numbered from FIRST on. It
 * says "sent NEXT" for each. Roles:
 *
 *     lease    takes a lease of a name of its own; of three one is renewed and released, one
 *              released, one left to end by itself
 *     inbox    a message arrives twice: its row (soak_inbox) is written once, the second arrival
 *              has to be a duplicate
 *     job      makes a job of a name of its own that runs every second, and removes the job that it
 *              made ten before, and the others at the end
 *     probe    measures a claim: "claim WALL CPU NOW_WALL NOW_CPU", microseconds, with those of
 *              asking the database for the time as the control
 *     once     maintenance whose reap does not repeat while there is more: wrong on purpose
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "application_sql.h"
#include "helper.h"
#include "pace.h"

#define LEASE_TTL_MS 1000
#define INBOX_KEEP_MS 3000
#define JOBS_ALIVE 10
#define PROBE_LEASE_MS 3000
#define RETENTION_MS 1000
#define AGAIN_MS 20

typedef pawl_status (*use)(pawl_store *store, long number, pawl_error *err);

/* ---- leases ---- */

static pawl_status use_lease(pawl_store *store, long number, pawl_error *err)
{
    pawl_owner owner = pawl_owner_new();
    pawl_lease_grant grant;
    char name[40];

    snprintf(name, sizeof name, "soak-%ld", number);
    pawl_status st = pawl_lease_acquire(store, name, owner, LEASE_TTL_MS, "soak", &grant, err);
    if (st == PAWL_E_HELD) /* taken by a call of ours whose answer was lost */
        return PAWL_OK;
    if (st == PAWL_OK && number % 3 == 0)
        st = pawl_lease_renew(store, name, owner, grant.fence, LEASE_TTL_MS, &grant, err);
    if (st == PAWL_OK && number % 3 != 2)
        st = pawl_lease_release(store, name, owner, grant.fence, NULL, err);
    return st == PAWL_E_LOST ? PAWL_OK : st; /* a busy machine was too slow for it */
}

/* ---- inbox ---- */

static pawl_status arrive(pawl_store *store, long number, pawl_inbox_result *ret_answer,
                          pawl_error *err)
{
    pawl_inbox_options options = PAWL_INBOX_OPTIONS_INIT;
    pawl_inbox_task *arrival = NULL;
    char id[24];

    snprintf(id, sizeof id, "%ld", number);
    options.max_attempts = 1000;
    options.keep_ms = INBOX_KEEP_MS;
    pawl_status st = pawl_inbox_begin(store, "soak", id, NULL, &options, &arrival, err);
    if (st != PAWL_OK)
        return st;
    *ret_answer = pawl_inbox_task_result(arrival);
    if (*ret_answer == PAWL_INBOX_NEW) {
        if (application_insert(pawl_inbox_task_tx(arrival), "soak_inbox", number))
            st = pawl_inbox_task_done(arrival, id, strlen(id), err);
        else
            st = PAWL_E_UNAVAILABLE;
    } else if (*ret_answer == PAWL_INBOX_IN_PROGRESS) {
        st = PAWL_E_BUSY;
    }
    pawl_inbox_task_free(arrival);
    return st;
}

static pawl_status use_inbox(pawl_store *store, long number, pawl_error *err)
{
    pawl_inbox_result first, second;
    pawl_status st = arrive(store, number, &first, err);

    if (st != PAWL_OK)
        return st;
    st = arrive(store, number, &second, err);
    if (st == PAWL_OK && second != PAWL_INBOX_DUPLICATE)
        helper_say("wrong the second arrival of %ld is '%s'", number,
                   pawl_inbox_result_name(second));
    return st;
}

/* ---- jobs ---- */

static pawl_status use_job(pawl_store *store, long number, pawl_error *err)
{
    pawl_job_definition job = PAWL_JOB_DEFINITION_INIT;
    char name[40], payload[24];

    snprintf(name, sizeof name, "soak-%ld", number);
    snprintf(payload, sizeof payload, "%ld", number);
    job.name = name;
    job.schedule = "* * * * * *";
    job.topic = "soak.job";
    job.payload = payload;
    job.payload_size = strlen(payload);
    job.lease_ms = 3000;
    job.heartbeat_ms = 1000;
    job.keep_runs = 3;
    job.overlap = PAWL_OVERLAP_ALLOW;
    pawl_status st = pawl_job_put(store, &job, NULL, err);
    if (st != PAWL_OK || number < JOBS_ALIVE)
        return st;
    snprintf(name, sizeof name, "soak-%ld", number - JOBS_ALIVE);
    st = pawl_job_delete(store, name, NULL, err);
    return st == PAWL_E_NOT_FOUND ? PAWL_OK : st; /* deleted by a call whose answer was lost */
}

/* The jobs that are left when there are `count`. */
static int remove_jobs(pawl_store *store, long count)
{
    pawl_error err = PAWL_ERROR_INIT;
    char name[40];

    for (long number = count > JOBS_ALIVE ? count - JOBS_ALIVE : 0; number < count; number++) {
        snprintf(name, sizeof name, "soak-%ld", number);
        pawl_status st = pawl_job_delete(store, name, NULL, &err);
        if (st != PAWL_OK && st != PAWL_E_NOT_FOUND)
            return helper_complain("remove a job", &err);
    }
    return 0;
}

/* ---- what a claim costs ---- */

static int64_t clock_us(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

typedef struct cost {
    int64_t wall_us;
    int64_t cpu_us;
} cost;

static cost begin_cost(void)
{
    return (cost){clock_us(CLOCK_MONOTONIC), clock_us(CLOCK_THREAD_CPUTIME_ID)};
}

static cost end_cost(cost began)
{
    return (cost){clock_us(CLOCK_MONOTONIC) - began.wall_us,
                  clock_us(CLOCK_THREAD_CPUTIME_ID) - began.cpu_us};
}

/* What it got is done if it is the probe's own, else it goes back as if it had not been claimed. */
static pawl_status give_back(pawl_store *store, pawl_owner owner, const pawl_messages *list,
                             pawl_error *err)
{
    const pawl_message *message = pawl_messages_at(list, 0);

    if (!message)
        return PAWL_OK;
    pawl_receipt held = {pawl_message_work_id(message), pawl_message_fence(message)};
    if (strcmp(pawl_message_topic(message), "soak.probe") == 0)
        return pawl_queue_ack(store, owner, &held, 1, NULL, err);
    return pawl_queue_release(store, owner, &held, 1, NULL, err);
}

static pawl_status use_probe(pawl_store *store, long number, pawl_error *err)
{
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;
    pawl_owner owner = pawl_owner_new();
    pawl_messages *list = NULL;
    pawl_wall now;

    (void)number;
    message.topic = "soak.probe";
    message.payload = "0";
    message.payload_size = 1;
    pawl_status st = pawl_outbox_enqueue(store, &message, NULL, err);
    if (st != PAWL_OK)
        return st;
    cost claim = begin_cost();
    st = pawl_queue_claim(store, owner, PROBE_LEASE_MS, 1, NULL, &list, err);
    claim = end_cost(claim);
    if (st != PAWL_OK)
        return st;
    cost control = begin_cost();
    st = pawl_store_now(store, &now, err);
    control = end_cost(control);
    if (st == PAWL_OK)
        st = give_back(store, owner, list, err);
    pawl_messages_free(list);
    if (st == PAWL_OK)
        helper_say("claim %lld %lld %lld %lld", (long long)claim.wall_us, (long long)claim.cpu_us,
                   (long long)control.wall_us, (long long)control.cpu_us);
    return st;
}

/* ---- maintenance that is wrong on purpose ---- */

static pawl_status use_once(pawl_store *store, long number, pawl_error *err)
{
    pawl_status st = pawl_queue_reap(store, NULL, NULL, err);

    (void)number;
    for (size_t changed = 1; st == PAWL_OK && changed > 0;) /* as it should be */
        st = pawl_queue_prune(store, RETENTION_MS, &changed, NULL, err);
    if (st == PAWL_OK)
        st = pawl_lease_clean(store, RETENTION_MS, NULL, NULL, err);
    if (st == PAWL_OK)
        st = pawl_inbox_clean(store, NULL, NULL, err);
    if (st == PAWL_OK)
        st = pawl_job_clean(store, NULL, NULL, err);
    return st == PAWL_OK ? pawl_queue_compact_stats(store, NULL, NULL, err) : st;
}

/* ---- all of them ---- */

static const struct {
    const char *name;
    use call;
} roles[] = {{"lease", use_lease},
             {"inbox", use_inbox},
             {"job", use_job},
             {"probe", use_probe},
             {"once", use_once}};

static use find_role(const char *name)
{
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (strcmp(name, roles[i].name) == 0)
            return roles[i].call;
    return NULL;
}

static int use_until_done(pawl_store *store, use call, long number)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_status st;

    while ((st = call(store, number, &err)) != PAWL_OK) {
        if (!pawl_status_retryable(st) && st != PAWL_E_IN_DOUBT)
            return helper_complain("use", &err);
        poll(NULL, 0, AGAIN_MS);
    }
    helper_say("sent %ld", number + 1);
    return 0;
}

int main(int argc, char **argv)
{
    use call = argc > 5 ? find_role(argv[4]) : NULL;
    pawl_store *store;
    int failed = 0;
    pace p;

    if (!call) {
        fprintf(stderr, "usage: soak_use_helper URL SCHEMA PREFIX ROLE RATE [FIRST]\n");
        return 64;
    }
    long next = argc > 6 ? strtol(argv[6], NULL, 10) : 0;
    store = helper_open(argv);
    if (!store)
        return 1;
    pace_init(&p, strtod(argv[5], NULL));
    while (!failed && pace_wait(&p, 1) > 0)
        failed = use_until_done(store, call, next++);
    if (!failed && call == use_job)
        failed = remove_jobs(store, next);
    pawl_store_close(store);
    return failed;
}
