/* src/core/job_definition.c - checks job definitions. */
#include <string.h>

#include <pawl/schedule.h>

#include "fail.h"
#include "job_private.h"
#include "bounds.h"
#include "options.h"
#include "message_spec.h"
#include "schedule.h"
#include "text.h"

static const char *const misfires[] = {"once", "all", "skip"};
static const char *const overlaps[] = {"skip", "allow", "queue"};

const char *pawl_misfire_name(pawl_misfire misfire)
{
    return (unsigned)misfire < PAWLI_COUNT(misfires) ? misfires[misfire] : "unknown";
}

const char *pawl_overlap_name(pawl_overlap overlap)
{
    return (unsigned)overlap < PAWLI_COUNT(overlaps) ? overlaps[overlap] : "unknown";
}

static unsigned definition_find(const char *const *names, unsigned count, const pawli_row *row,
                                int column)
{
    size_t size;
    const char *text = pawli_row_bytes(row, column, &size);

    for (unsigned i = 0; text && i < count; i++)
        if (strlen(names[i]) == size && memcmp(names[i], text, size) == 0)
            return i;
    return 0;
}

pawl_misfire pawli_misfire_of(const pawli_row *row, int column)
{
    return (pawl_misfire)definition_find(misfires, PAWLI_COUNT(misfires), row, column);
}

pawl_overlap pawli_overlap_of(const pawli_row *row, int column)
{
    return (pawl_overlap)definition_find(overlaps, PAWLI_COUNT(overlaps), row, column);
}

pawl_status pawli_job_check_name(const pawl_store *store, const char *name, pawl_error *err)
{
    size_t characters;

    if (!store)
        return pawli_fail(err, PAWL_E_INVALID, "the store must not be NULL");
    if (!name || !*name || !pawli_utf8_check(name, strlen(name), &characters))
        return pawli_fail(err, PAWL_E_INVALID, "the job name must be 1 to %d characters of UTF-8",
                          PAWL_JOB_NAME_MAX);
    if (characters > PAWL_JOB_NAME_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "the job name has %zu characters; the maximum is %d",
                          characters, PAWL_JOB_NAME_MAX);
    return PAWL_OK;
}

static pawl_status definition_check_span(int64_t ms, int64_t least_ms, int64_t most_ms,
                                         const char *what, const char *range, pawl_error *err)
{
    if (ms < least_ms || ms > most_ms)
        return pawli_fail(err, PAWL_E_INVALID, "%s is %lld: it must be %s", what, (long long)ms,
                          range);
    return PAWL_OK;
}

static pawl_status check_spans(const pawl_job_definition *job, pawl_error *err)
{
    pawl_status st = definition_check_span(job->misfire_grace_ms, PAWLI_MISFIRE_GRACE_MIN,
                                           PAWLI_MISFIRE_GRACE_MAX, "misfire_grace_ms",
                                           PAWLI_MISFIRE_GRACE_RANGE, err);

    if (st == PAWL_OK)
        st = definition_check_span(job->jitter_ms, PAWLI_JOB_JITTER_MIN, PAWLI_JOB_JITTER_MAX,
                                   "jitter_ms", PAWLI_JOB_JITTER_RANGE, err);
    if (st == PAWL_OK)
        st = definition_check_span(job->ttl_ms, 0, PAWLI_TTL_MAX, "ttl_ms",
                                   "0 (none) or " PAWLI_TTL_RANGE, err);
    if (st == PAWL_OK)
        st = definition_check_span(job->lease_ms, PAWLI_JOB_LEASE_MIN, PAWLI_JOB_LEASE_MAX,
                                   "lease_ms", PAWLI_JOB_LEASE_RANGE, err);
    if (st == PAWL_OK)
        st = definition_check_span(job->heartbeat_ms, PAWLI_JOB_HEARTBEAT_MIN,
                                   PAWLI_JOB_HEARTBEAT_MAX, "heartbeat_ms",
                                   PAWLI_JOB_HEARTBEAT_RANGE, err);
    if (st == PAWL_OK)
        st = definition_check_span(job->keep_ms, 0, PAWLI_TTL_MAX, "keep_ms",
                                   "0 (any age) or " PAWLI_TTL_RANGE, err);
    return st;
}

static pawl_status definition_check_numbers(const pawl_job_definition *job, pawl_error *err)
{
    if ((unsigned)job->misfire >= PAWLI_COUNT(misfires))
        return pawli_fail(err, PAWL_E_INVALID, "misfire must be one of PAWL_MISFIRE_...");
    if ((unsigned)job->overlap >= PAWLI_COUNT(overlaps))
        return pawli_fail(err, PAWL_E_INVALID, "overlap must be one of PAWL_OVERLAP_...");
    if (job->misfire_cap < 1 || job->misfire_cap > PAWLI_MISFIRE_CAP_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "misfire_cap must be 1 to %d",
                          PAWLI_MISFIRE_CAP_MAX);
    if (job->keep_runs < 1 || job->keep_runs > PAWLI_KEEP_RUNS_MAX)
        return pawli_fail(err, PAWL_E_INVALID, "keep_runs must be 1 to %d", PAWLI_KEEP_RUNS_MAX);
    return check_spans(job, err);
}

/* The message fields of the job must be valid message fields. */
static pawl_status check_message(pawl_job_definition *job, size_t max_payload_bytes,
                                 pawl_error *err)
{
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT, checked;
    bool made_id;

    if (!job->payload && job->payload_size == 0)
        job->payload = "";
    message.topic = job->topic;
    message.payload = job->payload;
    message.payload_size = job->payload_size;
    message.type = job->type;
    message.destination = job->destination;
    message.headers = job->headers;
    message.correlation_id = job->correlation_id;
    message.priority = job->priority;
    message.max_attempts = job->max_attempts;
    message.backoff = job->backoff;
    message.timeout_ms = job->timeout_ms;
    message.lease_ms = job->lease_ms;
    message.heartbeat_ms = job->heartbeat_ms;
    pawl_status st = pawli_message_spec_read(&message, max_payload_bytes, &checked, &made_id, err);
    if (st == PAWL_OK)
        job->correlation_id = checked.correlation_id;
    return st;
}

/* An unknown time zone is an invalid argument here, as is a schedule that cannot be parsed. */
static pawl_status check_schedule(const pawl_job_definition *job, pawl_error *err)
{
    PAWLI_AUTO(pawl_schedule) schedule = NULL;
    pawl_schedule_options options = PAWL_SCHEDULE_OPTIONS_INIT;
    pawl_error why = PAWL_ERROR_INIT;

    if (!job->schedule)
        return pawli_fail(err, PAWL_E_INVALID, "the schedule must not be NULL");
    options.zone = job->zone;
    pawl_status st = pawl_schedule_parse(job->schedule, &options, &schedule, &why);
    if (st == PAWL_OK || st == PAWL_E_NOMEM)
        return st == PAWL_OK ? st : pawli_fail(err, st, "out of memory for a schedule");
    return pawli_fail(err, st == PAWL_E_NOT_FOUND ? PAWL_E_INVALID : st, "%s", why.message);
}

pawl_status pawli_job_definition_read(const pawl_job_definition *given, size_t max_payload_bytes,
                                      pawl_job_definition *definition, pawl_error *err)
{
    pawl_status st;

    *definition = (pawl_job_definition)PAWL_JOB_DEFINITION_INIT;
    if (!given)
        return pawli_fail(err, PAWL_E_INVALID, "the definition must not be NULL");
    st = pawli_options_copy(definition, sizeof *definition, given, err);
    if (st == PAWL_OK)
        st = check_schedule(definition, err);
    if (st == PAWL_OK)
        st = definition_check_numbers(definition, err);
    if (st == PAWL_OK)
        st = check_message(definition, max_payload_bytes, err);
    if (st == PAWL_OK && !definition->zone)
        definition->zone = "UTC";
    return st;
}
