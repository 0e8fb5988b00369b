/*
 * src/core/columns.h - the columns of the wide rows, once: of results, which the core reads by
 * name, and of row tables, which it sends.
 *
 * scripts/embed-sql.py reads these lists, too: PAWLI_MESSAGE_COLUMNS becomes the part
 * "message_columns" of the SQL files (docs/internals/database-layer.md), and the drivers get the
 * names of all row tables' columns. To add a column, add it here at the end of its list.
 */
#ifndef PAWLI_COLUMNS_H
#define PAWLI_COLUMNS_H

/* clang-format off */

/* A message: the view pawl_message, in its order. */
#define PAWLI_MESSAGE_COLUMNS(X) \
    X(ID, id) X(MESSAGE_ID, message_id) X(TOPIC, topic) X(PAYLOAD, payload) X(TYPE, type) \
    X(DESTINATION, destination) X(HEADERS, headers) X(CORRELATION_ID, correlation_id) \
    X(PRIORITY, priority) X(CREATED_AT, created_at) X(DUE_AT, due_at) X(EXPIRES_AT, expires_at) \
    X(MAX_ATTEMPTS, max_attempts) X(RETRIES, retries) X(STATE, state) X(FENCE, fence) \
    X(OWNER, owner) X(CLAIMED_BY, claimed_by) X(LEASE_UNTIL, lease_until) \
    X(NEXT_ATTEMPT_AT, next_attempt_at) X(FINISHED_AT, finished_at) X(PROCESSED_BY, processed_by) \
    X(LAST_ERROR, last_error) X(PROGRESS, progress) X(TIMEOUT, timeout) X(HEARTBEAT, heartbeat) \
    X(RUN_ID, run_id) X(OUTPUT, output) X(DEFERRALS, deferrals) X(RETRY_BASE, retry_base) \
    X(RETRY_MAX, retry_max) X(RETRY_JITTER, retry_jitter) X(COUNT_ALL, count_all) \
    X(ORDERING_KEY, ordering_key) X(UNIQUE_KEY, unique_key) X(TAGS, tags)

/*
 * What else a row of messages or records may have: of a list, of dead_claim, and of a claim where the
 * engine reports it.
 */
#define PAWLI_EXTRA_COLUMNS(X) \
    X(MATCHES, matches) X(BOUNDED, bounded) X(CALLS, calls) X(LANE, lane) X(CLOCK, clock)

/* A record of the inbox. */
#define PAWLI_INBOX_COLUMNS(X) \
    X(NUMBER, number) X(SOURCE, source) X(ID, id) X(STATE, state) X(ATTEMPTS, attempts) \
    X(MAX_ATTEMPTS, max_attempts) X(SUSPECT, suspect) X(DUPLICATES, duplicates) X(FENCE, fence) \
    X(LEASE_UNTIL, lease_until) X(FIRST_SEEN, first_seen) X(LAST_SEEN, last_seen) \
    X(PROCESSED_AT, processed_at) X(EXPIRES_AT, expires_at) X(HASH, hash) X(ENDPOINT, endpoint) \
    X(ERROR, error) X(RESPONSE, response)

/* A lease, with the result of the operation and the clock. */
#define PAWLI_LEASE_COLUMNS(X) \
    X(RESULT, result) X(AT, at) X(NAME, name) X(OWNER, owner) X(OWNER_NAME, owner_name) \
    X(FENCE, fence) X(TAKEN_AT, taken_at) X(RENEWED_AT, renewed_at) X(EXPIRES_AT, expires_at) \
    X(RELEASED_AT, released_at) X(FORCED_AT, forced_at) X(FORCED_BY, forced_by) \
    X(FORCED_REASON, forced_reason) X(FORCED_FENCE, forced_fence)

/* A job: the view pawl_job_status, in its order. A result has the clock, too. */
#define PAWLI_JOB_COLUMNS(X) \
    X(ID, id) X(NAME, name) X(SCHEDULE, schedule) X(ZONE, zone) X(TOPIC, topic) \
    X(PAYLOAD, payload) X(TYPE, type) X(DESTINATION, destination) X(HEADERS, headers) \
    X(CORRELATION_ID, correlation_id) X(PRIORITY, priority) X(MAX_ATTEMPTS, max_attempts) \
    X(RETRY_BASE, retry_base) X(RETRY_MAX, retry_max) X(RETRY_JITTER, retry_jitter) \
    X(MISFIRE, misfire) X(MISFIRE_CAP, misfire_cap) X(MISFIRE_GRACE, misfire_grace) \
    X(OVERLAP, overlap) X(JITTER, jitter) X(TTL, ttl) X(TIMEOUT, timeout) X(LEASE, lease) \
    X(HEARTBEAT, heartbeat) X(KEEP_RUNS, keep_runs) X(KEEP_AGE, keep_age) X(ENABLED, enabled) \
    X(CREATED_AT, created_at) X(UPDATED_AT, updated_at) X(ANCHOR, anchor) X(SINCE, since) \
    X(NEXT_OCCURRENCE_AT, next_occurrence_at) X(LAST_OCCURRENCE_AT, last_occurrence_at) \
    X(AWAITED_RUN, awaited_run) X(PROBLEM, problem) X(UNFINISHED, unfinished) \
    X(LAST_RUN_AT, last_run_at) X(LAST_RUN_STATE, last_run_state)

/* A run of a job. */
#define PAWLI_RUN_COLUMNS(X) \
    X(ID, id) X(JOB, name) X(TRIGGERED, triggered) X(STATE, state) X(REASON, reason) \
    X(SCHEDULED_AT, scheduled_at) X(LAST_OCCURRENCE_AT, last_occurrence_at) \
    X(OCCURRENCES, occurrences) X(OCCURRENCES_MORE, occurrences_more) X(WORK_ID, work_id) \
    X(MESSAGE_ID, message_id) X(CREATED_AT, created_at) X(STARTED_AT, started_at) \
    X(CLAIMED_AT, claimed_at) X(ENDED_AT, ended_at) X(CLAIMED_BY, claimed_by) \
    X(ATTEMPTS, attempts) X(ERROR, error) X(OUTPUT, output)

/* ---- row tables: name and type ---- */

/* The messages of an enqueue. */
#define PAWLI_SPEC_COLUMNS(X) \
    X(POSITION, position, INT) X(MESSAGE_ID, message_id, UUID) X(TOPIC, topic, TEXT) \
    X(PAYLOAD, payload, BYTES) X(TYPE, type, INT) X(DESTINATION, destination, TEXT) \
    X(HEADERS, headers, TEXT) X(CORRELATION_ID, correlation_id, TEXT) X(PRIORITY, priority, INT) \
    X(DUE_AT, due_at, TIME) X(DELAY, delay, SPAN) X(EXPIRES_AT, expires_at, TIME) X(TTL, ttl, SPAN) \
    X(MAX_ATTEMPTS, max_attempts, INT) X(LEASE, lease, SPAN) X(RETRY_BASE, retry_base, SPAN) \
    X(RETRY_MAX, retry_max, SPAN) X(RETRY_JITTER, retry_jitter, SPAN) X(TIMEOUT, timeout, SPAN) \
    X(HEARTBEAT, heartbeat, SPAN) X(COUNT_ALL, count_all, BOOL) X(OTHER_LANE, other_lane, BOOL) \
    X(ORDERING_KEY, ordering_key, TEXT) X(UNIQUE_KEY, unique_key, TEXT) X(TAGS, tags, TEXTS)

/* Claimed messages, and an output of one. */
#define PAWLI_RECEIPT_COLUMNS(X) X(ID, id, INT) X(FENCE, fence, INT) X(OUTPUT, output, BYTES)

/* ---- the result of an operation on listed claimed messages ---- */

#define PAWLI_CHANGED_COLUMNS(X) X(CHANGED, changed) X(WHICH, which)

/* clang-format on */
#endif
