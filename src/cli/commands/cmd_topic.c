/* src/cli/commands/cmd_topic.c - pawl topic and pawl stats: pause and resume topics; message counts
 * per topic. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <pawl/topic.h>

#include "cli.h"
#include "console.h"
#include "database.h"
#include "fail.h"
#include "fields.h"
#include "scope.h"
#include "table.h"

PAWLI_AUTO_DEFINE(pawl_topics, pawl_topics_free);

typedef pawl_status (*topic_change)(pawl_store *store, const char *topic, bool *ret_changed,
                                    pawl_error *err);

typedef struct topic_subcommand {
    const char *name;
    topic_change change; /* NULL: list */
    const char *done;
    const char *already;
} topic_subcommand;

static const topic_subcommand topic_subcommands[] = {
    {"pause", pawl_topic_pause, "paused", "was paused already"},
    {"resume", pawl_topic_resume, "resumed", "was not paused"},
    {"ls", NULL, NULL, NULL},
};

static const char topic_usage[] =
    "use 'pawl topic pause TOPIC...', 'pawl topic resume TOPIC...' or 'pawl topic ls'";

static pawl_status change_topics(const cli_args *args, pawl_store *store,
                                 const topic_subcommand *action, pawl_error *err)
{
    json_t *array = args->common.json ? json_array() : NULL;
    pawl_status st = PAWL_OK;

    for (size_t i = 1; i < args->words.count && st == PAWL_OK; i++) {
        const char *topic = args->words.items[i];
        bool changed = false;
        st = action->change(store, topic, &changed, err);
        if (st == PAWL_OK && array) {
            json_t *object = json_object();
            cli_json_text(object, "topic", topic);
            json_object_set_new(object, "changed", json_boolean(changed));
            json_array_append_new(array, object);
        } else if (st == PAWL_OK) {
            printf("%s %s\n", topic, changed ? action->done : action->already);
        }
    }
    if (array)
        cli_json_print(stdout, array);
    return st;
}

static void read_topic_paused(const void *from, pawl_wall now, cli_value *to)
{
    const pawl_topic *topic = from;

    (void)now;
    to->kind = CLI_FIELD_BOOL;
    to->number = topic->paused_at.us != PAWL_TIME_UNSET.us;
}

CLI_FIELD_READ(pawl_topic, read_topic_state,
               cli_value_colored(to,
                                 it->paused_at.us != PAWL_TIME_UNSET.us ? CLI_YELLOW : CLI_PLAIN,
                                 it->paused_at.us != PAWL_TIME_UNSET.us ? "paused" : "active"));

#define TOPIC(kind, member) CLI_FIELD_##kind, offsetof(pawl_topic, member)
static const cli_field topic_fields[] = {
    {"topic", TOPIC(TEXT, name), .column = {1, "TOPIC"}},
    {"paused", .read = read_topic_paused},
    {NULL, .read = read_topic_state, .column = {2, "STATE"}},
    {"paused_at", TOPIC(TIME, paused_at), .column = {3, "SINCE", false, "-"}},
    {"dead_letters", TOPIC(BOOL, dead_letters)},
};
static const cli_noun topic_noun = CLI_NOUN(topic_fields);

static pawl_status list_topics(const cli_args *args, pawl_store *store, pawl_error *err)
{
    PAWLI_AUTO(pawl_topics) topics = NULL;
    CLI_AUTO_LISTING found = {0};
    pawl_wall now = PAWL_TIME_UNSET;
    pawl_status st = pawl_topic_list(store, &topics, err);

    if (st == PAWL_OK)
        st = pawl_store_now(store, &now, err);
    if (st != PAWL_OK)
        return st;
    cli_listing_begin(&found, &topic_noun, CLI_LISTING_FORM(args), INT64_MAX, now);
    for (size_t i = 0; i < pawl_topics_count(topics); i++)
        cli_listing_add(&found, pawl_topics_at(topics, i), 0);
    cli_listing_print(&found, "There are no topics yet.");
    return PAWL_OK;
}

static pawl_status run_topic(const cli_args *args, pawl_error *err)
{
    PAWLI_AUTO(pawl_store) store = NULL;
    const topic_subcommand *action = CLI_SUBCOMMAND(args, topic_subcommands, topic_usage, err);
    pawl_status st;

    if (!action)
        return PAWL_E_INVALID;
    if (action->change && args->words.count < 2)
        return pawli_fail(err, PAWL_E_INVALID, "no topic given; for example 'pawl topic %s mail'",
                          action->name);
    if (!action->change && args->words.count > 1)
        return pawli_fail(err, PAWL_E_INVALID, "topic ls takes no argument '%s'",
                          args->words.items[1]);
    st = cli_database_open(args, &store, err);
    if (st != PAWL_OK)
        return st;
    return action->change ? change_topics(args, store, action, err) : list_topics(args, store, err);
}

const cli_verb cli_verb_topic = {
    .name = "topic",
    .usage = "pause TOPIC...\nresume TOPIC...\nls",
    .summary = "pause and resume topics",
    .about = "A paused topic is not claimed by any worker of the database, regardless of the "
             "priority of its messages, until it is resumed. It can be paused before its "
             "first message. Running messages finish, new messages wait, and messages still "
             "expire at the end of their time to live. 'topic ls' lists all topics.",
    .examples = "  pawl topic pause mail\n  pawl topic ls\n  pawl topic resume mail",
    .run = run_topic,
};

/* ---- stats ---- */

static void format_count(cli_value *to, int64_t count, cli_color color_if_any)
{
    cli_value_colored(to, count > 0 ? color_if_any : CLI_PLAIN, cli_count_text(count, to->room));
}

#define COUNT_CELL(name, member, color)                                                            \
    CLI_FIELD_READ(pawl_topic_stats, name, format_count(to, it->member, color))
COUNT_CELL(read_running, running, CLI_YELLOW);
COUNT_CELL(read_done, total_done, CLI_GREEN);
COUNT_CELL(read_failed, total_failed, CLI_RED);
COUNT_CELL(read_expired, total_expired, CLI_MAGENTA);
COUNT_CELL(read_cancelled, total_cancelled, CLI_DIM);

/* Counting stops at 10,000: ">= 10,000 (~123,456)". */
static void read_ready_cell(const void *from, pawl_wall now, cli_value *to)
{
    const pawl_topic_stats *topic = from;

    (void)now;
    if (topic->depth_is_at_least)
        cli_value_format(to, CLI_PLAIN, ">= %s (~%s)", cli_count_text(topic->ready, CLI_ROOM),
                         cli_count_text(topic->depth_estimate - topic->running, CLI_ROOM));
    else
        format_count(to, topic->ready, CLI_PLAIN);
}

#define STATS(kind, member) CLI_FIELD_##kind, offsetof(pawl_topic_stats, member)
static const cli_field stats_fields[] = {
    {"topic", STATS(TEXT, topic), .column = {1, "TOPIC"}},
    {"ready", STATS(INT64, ready)},
    {NULL, .read = read_ready_cell, .column = {2, "READY", true}},
    {"running", STATS(INT64, running)},
    {NULL, .read = read_running, .column = {3, "RUNNING", true}},
    {"depth_is_at_least", STATS(BOOL, depth_is_at_least)},
    {"depth_estimate", STATS(INT64, depth_estimate)},
    {"oldest_due_at", STATS(TIME, oldest_due_at), .column = {4, "OLDEST DUE", false, "-"}},
    {"done", STATS(INT64, total_done)},
    {NULL, .read = read_done, .column = {5, "DONE", true}},
    {"failed", STATS(INT64, total_failed)},
    {NULL, .read = read_failed, .column = {6, "FAILED", true}},
    {"expired", STATS(INT64, total_expired)},
    {NULL, .read = read_expired, .column = {7, "EXPIRED", true}},
    {"cancelled", STATS(INT64, total_cancelled)},
    {NULL, .read = read_cancelled, .column = {8, "CANCELLED", true}},
};
static const cli_noun stats_noun = CLI_NOUN(stats_fields);

static void add_to_sum(pawl_topic_stats *sum, const pawl_topic_stats *topic)
{
    sum->ready += topic->ready;
    sum->running += topic->running;
    sum->depth_is_at_least |= topic->depth_is_at_least;
    sum->depth_estimate += topic->depth_estimate;
    sum->total_done += topic->total_done;
    sum->total_failed += topic->total_failed;
    sum->total_expired += topic->total_expired;
    sum->total_cancelled += topic->total_cancelled;
    if (topic->oldest_due_at.us != PAWL_TIME_UNSET.us &&
        (sum->oldest_due_at.us == PAWL_TIME_UNSET.us ||
         topic->oldest_due_at.us < sum->oldest_due_at.us))
        sum->oldest_due_at = topic->oldest_due_at;
}

static pawl_status run_stats(const cli_args *args, pawl_error *err)
{
    PAWLI_AUTO(pawl_store) store = NULL;
    PAWLI_AUTO(pawl_outbox_stats) stats = NULL;
    CLI_AUTO_LISTING found = {0};
    pawl_topic_stats sum = {.topic = "(all)"};
    pawl_wall now = PAWL_TIME_UNSET;
    pawl_status st;

    st = cli_args_no_words(args, err);
    if (st == PAWL_OK)
        st = cli_database_open(args, &store, err);
    if (st == PAWL_OK)
        st = pawl_outbox_get_stats(store, &stats, err);
    if (st == PAWL_OK)
        st = pawl_store_now(store, &now, err);
    if (st != PAWL_OK)
        return st;
    cli_listing_begin(&found, &stats_noun, CLI_LISTING_FORM(args), INT64_MAX, now);
    for (size_t i = 0; i < pawl_outbox_stats_count(stats); i++) {
        cli_listing_add(&found, pawl_outbox_stats_at(stats, i), 0);
        add_to_sum(&sum, pawl_outbox_stats_at(stats, i));
    }
    if (pawl_outbox_stats_count(stats) > 1 && !args->common.json)
        cli_listing_add(&found, &sum, 0);
    cli_listing_print(&found, "No messages were sent yet.");
    return PAWL_OK;
}

const cli_verb cli_verb_stats = {
    .name = "stats",
    .usage = "",
    .summary = "message counts per topic",
    .about = "READY counts ready and scheduled messages; counting stops at 10,000 per topic, "
             "and beyond that an estimate is shown. OLDEST DUE is the due time of the message "
             "that has waited longest. The other columns count the messages that have "
             "finished since the tables were created; a message that failed, was retried and "
             "failed again counts twice.",
    .examples = "  pawl stats\n  pawl stats --json | jq '.[] | select(.failed > 0)'",
    .run = run_stats,
};
