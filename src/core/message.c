/* src/core/message.c - messages read from the store, their states and types. */
#include <pawl/message.h>

#include <stdlib.h>
#include <string.h>

#include <pawl/pawl.h>
#include <pawl/sys/strategy.h>

#include "arena.h"
#include "bounds.h"
#include "codes.h"
#include "fail.h"
#include "message_private.h"
#include "message_spec.h"
#include "options.h"

/* ---- messages as read from the store ---- */

static const char *const message_column_names[] = {PAWLI_MESSAGE_COLUMNS(PAWLI_COLUMN_NAME)
                                                       PAWLI_EXTRA_COLUMNS(PAWLI_COLUMN_NAME)};
const pawli_columns pawli_message_columns = {message_column_names,
                                             PAWLI_COUNT(message_column_names)};

struct pawl_message {
    pawl_work_id work_id;
    pawl_uuid id;
    pawl_owner owner;
    const char *topic;
    const char *payload;
    size_t payload_size;
    const char *destination;
    const char *headers;
    const char *correlation_id;
    const char *ordering_key;
    const char *unique_key;
    const char **tags;
    size_t tag_count;
    const char *claimed_by;
    const char *processed_by;
    const char *last_error;
    const char *progress;
    const char *output;
    size_t output_size;
    pawl_wall created_at;
    pawl_wall due_at;
    pawl_wall expires_at;
    pawl_wall lease_until;
    pawl_wall next_attempt_at;
    pawl_wall finished_at;
    int64_t fence;
    int64_t timeout_ms;
    int64_t heartbeat_ms;
    int64_t run_id;
    int priority;
    int max_attempts;
    int retries;
    int deferrals;
    int dead_call;
    pawl_backoff backoff;
    pawl_count count;
    pawl_type type;
    pawl_state state;
};

struct pawl_messages {
    pawl_message *items;
    size_t count;
    size_t capacity;
    pawli_arena texts;
};

pawl_status pawli_messages_new(pawl_messages **ret_list, pawl_error *err)
{
    pawl_messages *list = calloc(1, sizeof *list);

    if (!list)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a list of messages");
    *ret_list = list;
    return PAWL_OK;
}

void pawli_messages_clear(pawl_messages *list)
{
    pawli_arena_done(&list->texts);
    list->count = 0;
}

void pawli_messages_truncate(pawl_messages *list, size_t count)
{
    list->count = count;
}

void pawl_messages_free(pawl_messages *list)
{
    if (!list)
        return;
    pawli_arena_done(&list->texts);
    free(list->items);
    free(list);
}

/* SQL NULL stays NULL; *failed is set when memory runs out. */
static const char *message_text_of(pawl_messages *list, const pawli_row *row, int column,
                                   size_t *ret_size, bool *failed)
{
    size_t size;
    const void *bytes = pawli_row_bytes(row, column, &size);

    if (ret_size)
        *ret_size = size;
    if (!bytes)
        return NULL;
    const char *copy = pawli_arena_copy(&list->texts, bytes, size);
    if (!copy)
        *failed = true;
    return copy;
}

/* Collects tags: only their number while `tags` is NULL. */
struct tag_list {
    pawl_messages *list;
    const char **tags;
    size_t count;
    bool failed;
};

static void add_tag(void *context, const char *text, size_t size)
{
    struct tag_list *to = context;

    if (to->tags) {
        to->tags[to->count] = pawli_arena_copy(&to->list->texts, text, size);
        to->failed = to->failed || !to->tags[to->count];
    }
    to->count++;
}

static bool message_read_tags(pawl_messages *list, const pawli_row *row, pawl_message *message)
{
    struct tag_list to = {.list = list};

    if (pawli_row_is_null(row, COLUMN_TAGS))
        return true;
    if (!pawli_row_texts(row, COLUMN_TAGS, add_tag, &to))
        return false;
    if (to.count == 0)
        return true;
    to.tags = pawli_arena_alloc(&list->texts, to.count * sizeof *to.tags);
    to.count = 0;
    if (!to.tags || !pawli_row_texts(row, COLUMN_TAGS, add_tag, &to))
        return false;
    message->tags = to.tags;
    message->tag_count = to.count;
    return !to.failed;
}

static bool message_read_texts(pawl_messages *list, const pawli_row *row, pawl_message *message)
{
    bool failed = false;

    message->topic = message_text_of(list, row, COLUMN_TOPIC, NULL, &failed);
    message->payload = message_text_of(list, row, COLUMN_PAYLOAD, &message->payload_size, &failed);
    message->destination = message_text_of(list, row, COLUMN_DESTINATION, NULL, &failed);
    message->headers = message_text_of(list, row, COLUMN_HEADERS, NULL, &failed);
    message->correlation_id = message_text_of(list, row, COLUMN_CORRELATION_ID, NULL, &failed);
    message->ordering_key = message_text_of(list, row, COLUMN_ORDERING_KEY, NULL, &failed);
    message->unique_key = message_text_of(list, row, COLUMN_UNIQUE_KEY, NULL, &failed);
    message->claimed_by = message_text_of(list, row, COLUMN_CLAIMED_BY, NULL, &failed);
    message->processed_by = message_text_of(list, row, COLUMN_PROCESSED_BY, NULL, &failed);
    message->last_error = message_text_of(list, row, COLUMN_LAST_ERROR, NULL, &failed);
    message->progress = message_text_of(list, row, COLUMN_PROGRESS, NULL, &failed);
    message->output = message_text_of(list, row, COLUMN_OUTPUT, &message->output_size, &failed);
    if (!message->payload)
        message->payload = ""; /* not requested */
    return message_read_tags(list, row, message) && !failed;
}

/* As sent; all zero if the message has no policy of its own. */
static pawl_backoff message_backoff_of(const pawli_row *row)
{
    pawl_backoff own = {pawli_row_int(row, COLUMN_RETRY_BASE) / 1000,
                        pawli_row_int(row, COLUMN_RETRY_MAX) / 1000,
                        pawli_row_int(row, COLUMN_RETRY_JITTER) / 1000};

    if (!pawli_row_is_null(row, COLUMN_RETRY_BASE) && pawli_row_is_null(row, COLUMN_RETRY_JITTER))
        own.jitter_ms = PAWL_JITTER_TENTH;
    return own;
}

static pawl_count message_count_of(const pawli_row *row)
{
    if (pawli_row_is_null(row, COLUMN_COUNT_ALL))
        return PAWL_COUNT_DEFAULT;
    return pawli_row_int(row, COLUMN_COUNT_ALL) ? PAWL_COUNT_ALL : PAWL_COUNT_ANSWERED;
}

static void message_read_numbers(const pawli_row *row, pawl_message *message)
{
    message->work_id.value = pawli_row_int(row, COLUMN_ID);
    pawli_row_uuid(row, COLUMN_MESSAGE_ID, message->id.bytes);
    pawli_row_uuid(row, COLUMN_OWNER, message->owner.bytes);
    message->type = (pawl_type)pawli_row_int(row, COLUMN_TYPE);
    message->state = (pawl_state)pawli_row_int(row, COLUMN_STATE);
    message->priority = (int)pawli_row_int(row, COLUMN_PRIORITY);
    message->max_attempts = (int)pawli_row_int(row, COLUMN_MAX_ATTEMPTS);
    message->count = message_count_of(row);
    message->deferrals = (int)pawli_row_int(row, COLUMN_DEFERRALS);
    message->retries = (int)pawli_row_int(row, COLUMN_RETRIES);
    message->backoff = message_backoff_of(row);
    message->fence = pawli_row_int(row, COLUMN_FENCE);
    message->timeout_ms = pawli_row_int(row, COLUMN_TIMEOUT) / 1000;
    message->heartbeat_ms = pawli_row_int(row, COLUMN_HEARTBEAT) / 1000;
    message->run_id = pawli_row_int(row, COLUMN_RUN_ID);
    message->dead_call = (int)pawli_row_int(row, COLUMN_CALLS);
    message->created_at = pawli_row_time(row, COLUMN_CREATED_AT);
    message->due_at = pawli_row_time(row, COLUMN_DUE_AT);
    message->expires_at = pawli_row_time(row, COLUMN_EXPIRES_AT);
    message->lease_until = pawli_row_time(row, COLUMN_LEASE_UNTIL);
    message->next_attempt_at = pawli_row_time(row, COLUMN_NEXT_ATTEMPT_AT);
    message->finished_at = pawli_row_time(row, COLUMN_FINISHED_AT);
}

static pawl_status message_make_room(pawl_messages *list, pawl_error *err)
{
    if (list->count < list->capacity)
        return PAWL_OK;
    size_t capacity = list->capacity ? list->capacity * 2 : 16;
    pawl_message *items = realloc(list->items, capacity * sizeof *items);
    if (!items)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for %zu messages", capacity);
    list->items = items;
    list->capacity = capacity;
    return PAWL_OK;
}

pawl_status pawli_messages_add(pawl_messages *list, const pawli_row *row, pawl_error *err)
{
    pawl_message message = {0};
    pawl_status st = message_make_room(list, err);

    if (st != PAWL_OK)
        return st;
    if (!message_read_texts(list, row, &message))
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a message");
    message_read_numbers(row, &message);
    list->items[list->count++] = message;
    return PAWL_OK;
}

pawl_status pawl_messages_new(pawl_messages **ret_list, pawl_error *err)
{
    if (!ret_list)
        return pawli_fail(err, PAWL_E_INVALID, "ret_list must not be NULL");
    return pawli_messages_new(ret_list, err);
}

/* Copies the text into the list's memory; NULL stays NULL. */
static const char *message_keep(pawl_messages *list, const char *text, size_t size, bool *failed)
{
    const char *copy = text ? pawli_arena_copy(&list->texts, text, size) : NULL;

    *failed = *failed || (text && !copy);
    return copy;
}

static const char *keep_text(pawl_messages *list, const char *text, bool *failed)
{
    return message_keep(list, text, text ? strlen(text) : 0, failed);
}

static bool message_copy_tags(pawl_messages *list, const pawl_message_spec *content,
                              pawl_message *message)
{
    struct tag_list to = {.list = list};

    if (content->tag_count == 0)
        return true;
    to.tags = pawli_arena_alloc(&list->texts, content->tag_count * sizeof *to.tags);
    if (!to.tags)
        return false;
    for (size_t i = 0; i < content->tag_count; i++)
        add_tag(&to, content->tags[i], strlen(content->tags[i]));
    message->tags = to.tags;
    message->tag_count = to.count;
    return !to.failed;
}

static bool message_copy_texts(pawl_messages *list, const pawl_message_image *image,
                               pawl_message *message)
{
    const pawl_message_spec *content = image->content;
    bool failed = false;

    message->topic = keep_text(list, content->topic, &failed);
    message->payload_size = image->without_payload ? 0 : content->payload_size;
    message->payload = message_keep(list, content->payload, message->payload_size, &failed);
    message->destination = keep_text(list, content->destination, &failed);
    message->headers = keep_text(list, content->headers, &failed);
    message->correlation_id = keep_text(list, content->correlation_id, &failed);
    message->ordering_key = keep_text(list, content->ordering_key, &failed);
    message->unique_key = keep_text(list, content->unique_key, &failed);
    message->last_error = keep_text(list, image->last_error, &failed);
    return message_copy_tags(list, content, message) && !failed;
}

pawl_status pawl_messages_append(pawl_messages *list, const pawl_message_image *given,
                                 pawl_error *err)
{
    pawl_message_image image = PAWL_MESSAGE_IMAGE_INIT;
    pawl_status st;

    if (!list || !given || !given->content)
        return pawli_fail(err, PAWL_E_INVALID, "list, image and its content must not be NULL");
    st = pawli_options_copy(&image, sizeof image, given, err);
    if (st == PAWL_OK)
        st = message_make_room(list, err);
    if (st != PAWL_OK)
        return st;
    const pawl_message_spec *content = image.content;
    pawl_message message = {
        .work_id = image.work_id,
        .id = content->id,
        .created_at = image.created_at,
        .due_at = image.due_at,
        .expires_at = content->expires_at,
        .next_attempt_at = image.next_attempt_at,
        .finished_at = image.finished_at,
        .timeout_ms = content->timeout_ms,
        .heartbeat_ms = content->heartbeat_ms,
        .priority = content->priority,
        .max_attempts = pawli_message_spec_attempts(content),
        .count = content->destination ? content->count : PAWL_COUNT_DEFAULT,
        .backoff = content->backoff,
        .retries = image.retries,
        .type = content->type,
        .state = image.state,
    };
    if (!message_copy_texts(list, &image, &message))
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a message");
    list->items[list->count++] = message;
    return PAWL_OK;
}

void pawli_messages_on_start(void *list)
{
    pawli_messages_clear(list);
}

pawl_status pawli_messages_on_row(void *list, const pawli_row *row, pawl_error *err)
{
    return pawli_messages_add(list, row, err);
}

size_t pawl_messages_count(const pawl_messages *list)
{
    return list ? list->count : 0;
}

const pawl_message *pawl_messages_at(const pawl_messages *list, size_t index)
{
    return list && index < list->count ? &list->items[index] : NULL;
}

const void *pawl_message_payload(const pawl_message *message, size_t *ret_size)
{
    if (ret_size)
        *ret_size = message->payload_size;
    return message->payload;
}

const void *pawl_message_output(const pawl_message *message, size_t *ret_size)
{
    if (ret_size)
        *ret_size = message->output_size;
    return message->output;
}

const char *pawl_message_tag(const pawl_message *message, size_t index)
{
    return index < message->tag_count ? message->tags[index] : NULL;
}

int pawl_message_attempt(const pawl_message *message)
{
    return message->retries + 1;
}

#define GETTER(type, name, field)                                                                  \
    type pawl_message_##name(const pawl_message *message)                                          \
    {                                                                                              \
        return message->field;                                                                     \
    }
GETTER(pawl_work_id, work_id, work_id)
GETTER(pawl_uuid, id, id)
GETTER(const char *, topic, topic)
GETTER(pawl_type, type, type)
GETTER(const char *, destination, destination)
GETTER(const char *, headers, headers)
GETTER(const char *, correlation_id, correlation_id)
GETTER(const char *, ordering_key, ordering_key)
GETTER(const char *, unique_key, unique_key)
GETTER(size_t, tag_count, tag_count)
GETTER(int, priority, priority)
GETTER(pawl_wall, created_at, created_at)
GETTER(pawl_wall, due_at, due_at)
GETTER(pawl_wall, expires_at, expires_at)
GETTER(int, max_attempts, max_attempts)
GETTER(pawl_count, count, count)
GETTER(pawl_backoff, backoff, backoff)
GETTER(int, retries, retries)
GETTER(int, deferrals, deferrals)
GETTER(pawl_state, state, state)
GETTER(int64_t, fence, fence)
GETTER(pawl_owner, owner, owner)
GETTER(const char *, claimed_by, claimed_by)
GETTER(pawl_wall, lease_until, lease_until)
GETTER(pawl_wall, next_attempt_at, next_attempt_at)
GETTER(pawl_wall, finished_at, finished_at)
GETTER(const char *, processed_by, processed_by)
GETTER(const char *, last_error, last_error)
GETTER(const char *, progress, progress)
GETTER(int64_t, timeout_ms, timeout_ms)
GETTER(int64_t, heartbeat_ms, heartbeat_ms)
GETTER(int64_t, run_id, run_id)
GETTER(int, dead_call, dead_call)

/* ---- names of states and types; the numbers that SQL and the public headers share ---- */

#define SAME(name, other) _Static_assert((name) == (other), #name " is not " #other)

SAME(PAWLI_TOPIC_MAX, PAWL_TOPIC_MAX);
SAME(PAWLI_CORRELATION_MAX, PAWL_CORRELATION_MAX);
SAME(PAWLI_DESTINATION_MAX, PAWL_DESTINATION_MAX);
SAME(PAWLI_ORDERING_KEY_MAX, PAWL_ORDERING_KEY_MAX);
SAME(PAWLI_UNIQUE_KEY_MAX, PAWL_UNIQUE_KEY_MAX);
SAME(PAWLI_TAG_MAX, PAWL_TAG_MAX);
SAME(PAWLI_TAGS_MAX, PAWL_TAGS_MAX);
SAME(PAWLI_PRIORITY_MAX, PAWL_PRIORITY_MAX);
SAME(PAWLI_TYPE_MAX, PAWL_TYPE_RESPONSE);
SAME(PAWLI_BATCH_MAX, PAWL_BATCH_MAX);
SAME(PAWLI_BATCH_BYTES_MAX, PAWL_BATCH_MAX_BYTES);
SAME(PAWLI_OUTPUT_MAX, PAWL_OUTPUT_MAX);
SAME(PAWLI_LEASE_NAME_MAX, PAWL_LEASE_NAME_MAX);
SAME(PAWLI_LEASE_TTL_MIN, PAWL_LEASE_TTL_MIN_MS);
SAME(PAWLI_LEASE_TTL_MAX, PAWL_LEASE_TTL_MAX_MS);
SAME(PAWLI_INBOX_KEY_MAX, PAWL_INBOX_KEY_MAX);
SAME(PAWLI_JOB_NAME_MAX, PAWL_JOB_NAME_MAX);
SAME(PAWLI_SCHEDULE_MAX, PAWL_SCHEDULE_MAX);
SAME(PAWLI_ATTEMPTS_LOCAL, PAWL_MAX_ATTEMPTS_LOCAL);
SAME(PAWLI_ATTEMPTS_REMOTE, PAWL_MAX_ATTEMPTS_REMOTE);
SAME(PAWLI_ATTEMPTS_COUNTED, PAWL_MAX_ATTEMPTS_ALL);
SAME(PAWLI_LEASE_DEFAULT, PAWL_LEASE_TTL_MS);
SAME(PAWLI_KEEP_DEFAULT_DAYS *INT64_C(86400000), PAWL_RETENTION_MS);

SAME(PAWLI_STATE_READY, PAWL_STATE_READY);
SAME(PAWLI_STATE_RUNNING, PAWL_STATE_RUNNING);
SAME(PAWLI_STATE_DONE, PAWL_STATE_DONE);
SAME(PAWLI_STATE_FAILED, PAWL_STATE_FAILED);
SAME(PAWLI_STATE_EXPIRED, PAWL_STATE_EXPIRED);
SAME(PAWLI_STATE_CANCELLED, PAWL_STATE_CANCELLED);
SAME(PAWLI_STATE_SCHEDULED, PAWL_STATE_SCHEDULED);
SAME(PAWLI_STATE_READY, PAWL_RUN_READY);
SAME(PAWLI_STATE_RUNNING, PAWL_RUN_RUNNING);
SAME(PAWLI_STATE_DONE, PAWL_RUN_DONE);
SAME(PAWLI_STATE_FAILED, PAWL_RUN_FAILED);
SAME(PAWLI_STATE_EXPIRED, PAWL_RUN_EXPIRED);
SAME(PAWLI_STATE_CANCELLED, PAWL_RUN_CANCELLED);
SAME(PAWLI_RUN_WAITING, PAWL_RUN_WAITING);
SAME(PAWLI_RUN_SKIPPED, PAWL_RUN_SKIPPED);
SAME(PAWLI_RUN_NO_REASON, PAWL_RUN_NO_REASON);
SAME(PAWLI_RUN_OVERLAP, PAWL_RUN_OVERLAP);
SAME(PAWLI_RUN_MISFIRE, PAWL_RUN_MISFIRE);
SAME(PAWLI_TYPE_SIGNAL, PAWL_TYPE_SIGNAL);
SAME(PAWLI_TYPE_COMMAND, PAWL_TYPE_COMMAND);
SAME(PAWLI_TYPE_PUSH_CALL, PAWL_TYPE_PUSH_CALL);
SAME(PAWLI_TYPE_RESPONSE, PAWL_TYPE_RESPONSE);
SAME(PAWLI_INBOX_SEEN, PAWL_INBOX_SEEN);
SAME(PAWLI_INBOX_PROCESSING, PAWL_INBOX_PROCESSING);
SAME(PAWLI_INBOX_DONE, PAWL_INBOX_DONE);
SAME(PAWLI_INBOX_DEAD, PAWL_INBOX_DEAD);
SAME(PAWLI_INBOX_RESULT_NEW, PAWL_INBOX_NEW);
SAME(PAWLI_INBOX_RESULT_DUPLICATE, PAWL_INBOX_DUPLICATE);
SAME(PAWLI_INBOX_RESULT_IN_PROGRESS, PAWL_INBOX_IN_PROGRESS);
SAME(PAWLI_INBOX_RESULT_CONFLICT, PAWL_INBOX_CONFLICT);
SAME(PAWLI_INBOX_RESULT_DEAD, PAWL_INBOX_REJECTED);

const char *pawl_state_name(pawl_state state)
{
    static const char *const names[PAWL_STATE_COUNT] = {
        "ready", "running", "done", "failed", "expired", "cancelled", "scheduled"};

    return (unsigned)state < PAWL_STATE_COUNT ? names[state] : "unknown";
}

const char *pawl_type_name(pawl_type type)
{
    static const char *const names[] = {"signal", "command", "push_call", "response"};

    return (unsigned)type < 4 ? names[type] : "unknown";
}
