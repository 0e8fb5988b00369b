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
#include "message_view.h"
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
    "say 'pawl topic pause TOPIC...', 'pawl topic resume TOPIC...' or 'pawl topic ls'";

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

static void print_topics(const pawl_topics *topics, pawl_wall now)
{
    static const cli_column columns[] = {{"TOPIC", false}, {"STATE", false}, {"SINCE", false}};
    PAWLI_AUTO(cli_table) table = cli_table_new(columns, PAWLI_COUNT(columns));

    if (pawl_topics_count(topics) == 0) {
        fputs("There are no topics yet.\n", stderr);
        return;
    }
    for (size_t i = 0; i < pawl_topics_count(topics); i++) {
        const pawl_topic *topic = pawl_topics_at(topics, i);
        bool paused = topic->paused_at.us != PAWL_NEVER.us;
        char when[CLI_WHEN_SIZE];
        cli_table_cell(table, CLI_PLAIN, "%s", topic->name);
        cli_table_cell(table, paused ? CLI_YELLOW : CLI_PLAIN, "%s", paused ? "paused" : "active");
        cli_table_cell(table, CLI_PLAIN, "%s",
                       paused ? cli_table_time(topic->paused_at, now, when) : "-");
    }
    cli_table_print(table, stdout);
}

static void print_topics_json(const pawl_topics *topics)
{
    json_t *array = json_array();

    for (size_t i = 0; i < pawl_topics_count(topics); i++) {
        const pawl_topic *topic = pawl_topics_at(topics, i);
        json_t *object = json_object();
        cli_json_text(object, "topic", topic->name);
        json_object_set_new(object, "paused", json_boolean(topic->paused_at.us != PAWL_NEVER.us));
        cli_json_time(object, "paused_at", topic->paused_at);
        json_object_set_new(object, "dead_letters", json_boolean(topic->dead_letters));
        json_array_append_new(array, object);
    }
    cli_json_print(stdout, array);
}

static pawl_status list_topics(const cli_args *args, pawl_store *store, pawl_error *err)
{
    PAWLI_AUTO(pawl_topics) topics = NULL;
    pawl_wall now = PAWL_NEVER;
    pawl_status st = pawl_topic_list(store, &topics, err);

    if (st == PAWL_OK)
        st = pawl_store_now(store, &now, err);
    if (st != PAWL_OK)
        return st;
    if (args->common.json)
        print_topics_json(topics);
    else
        print_topics(topics, now);
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
        return pawli_fail(err, PAWL_E_INVALID, "which topic? For example 'pawl topic %s mail'",
                          action->name);
    if (!action->change && args->words.count > 1)
        return pawli_fail(err, PAWL_E_INVALID, "topic ls takes no more words; '%s' is one",
                          args->words.items[1]);
    st = cli_database_open(args, &store, err);
    if (st != PAWL_OK)
        return st;
    return action->change ? change_topics(args, store, action, err) : list_topics(args, store, err);
}

const cli_verb cli_verb_topic = {
    .name = "topic",
    .usage = "pause TOPIC...\nresume TOPIC...\nls",
    .summary = "stop and go on with whole topics",
    .about =
        "A paused topic is not claimed by any worker of the database, whatever the priority of "
        "its messages, until it is resumed; also if it is paused before its first message. "
        "What is in progress goes on, what is sent waits, what has a time to live still "
        "expires. 'topic ls' lists every topic.",
    .examples = "  pawl topic pause mail\n  pawl topic ls\n  pawl topic resume mail",
    .run = run_topic,
};

static void add_count_cell(cli_table *table, int64_t number, cli_color color_if_any)
{
    char text[CLI_WHEN_SIZE];

    cli_table_cell(table, number > 0 ? color_if_any : CLI_PLAIN, "%s",
                   cli_count_text(number, text));
}

/* Counting stops at 10,000: "≥ 10,000 (~123,456)". */
static void add_ready_cell(cli_table *table, const pawl_topic_stats *topic)
{
    char least[CLI_WHEN_SIZE];
    char estimate[CLI_WHEN_SIZE];

    if (topic->depth_is_at_least)
        cli_table_cell(table, CLI_PLAIN, ">= %s (~%s)", cli_count_text(topic->ready, least),
                       cli_count_text(topic->depth_estimate - topic->in_progress, estimate));
    else
        add_count_cell(table, topic->ready, CLI_PLAIN);
}

static void add_stats_row(cli_table *table, const pawl_topic_stats *topic, pawl_wall now)
{
    char when[CLI_WHEN_SIZE];

    cli_table_cell(table, CLI_PLAIN, "%s", topic->topic);
    add_ready_cell(table, topic);
    add_count_cell(table, topic->in_progress, CLI_YELLOW);
    cli_table_cell(table, CLI_PLAIN, "%s",
                   topic->oldest_due_at.us == PAWL_NEVER.us
                       ? "-"
                       : cli_table_time(topic->oldest_due_at, now, when));
    add_count_cell(table, topic->total_done, CLI_GREEN);
    add_count_cell(table, topic->total_failed, CLI_RED);
    add_count_cell(table, topic->total_expired, CLI_MAGENTA);
    add_count_cell(table, topic->total_cancelled, CLI_DIM);
}

static void add_to_sum(pawl_topic_stats *sum, const pawl_topic_stats *topic)
{
    sum->ready += topic->ready;
    sum->in_progress += topic->in_progress;
    sum->depth_is_at_least |= topic->depth_is_at_least;
    sum->depth_estimate += topic->depth_estimate;
    sum->total_done += topic->total_done;
    sum->total_failed += topic->total_failed;
    sum->total_expired += topic->total_expired;
    sum->total_cancelled += topic->total_cancelled;
    if (topic->oldest_due_at.us != PAWL_NEVER.us &&
        (sum->oldest_due_at.us == PAWL_NEVER.us || topic->oldest_due_at.us < sum->oldest_due_at.us))
        sum->oldest_due_at = topic->oldest_due_at;
}

static void print_stats_table(const pawl_stats *stats, pawl_wall now)
{
    static const cli_column columns[] = {
        {"TOPIC", false}, {"READY", true},  {"IN PROGRESS", true}, {"OLDEST DUE", false},
        {"DONE", true},   {"FAILED", true}, {"EXPIRED", true},     {"CANCELLED", true}};
    PAWLI_AUTO(cli_table) table = cli_table_new(columns, PAWLI_COUNT(columns));
    pawl_topic_stats sum = {.topic = "(all)"};

    if (pawl_stats_count(stats) == 0) {
        fputs("Nothing was sent here yet.\n", stderr);
        return;
    }
    for (size_t i = 0; i < pawl_stats_count(stats); i++) {
        add_stats_row(table, pawl_stats_at(stats, i), now);
        add_to_sum(&sum, pawl_stats_at(stats, i));
    }
    if (pawl_stats_count(stats) > 1)
        add_stats_row(table, &sum, now);
    cli_table_print(table, stdout);
}

static void print_stats_json(const pawl_stats *stats)
{
    json_t *array = json_array();

    for (size_t i = 0; i < pawl_stats_count(stats); i++) {
        const pawl_topic_stats *topic = pawl_stats_at(stats, i);
        json_t *object = json_object();
        cli_json_text(object, "topic", topic->topic);
        cli_json_number(object, "ready", topic->ready);
        cli_json_number(object, "in_progress", topic->in_progress);
        json_object_set_new(object, "depth_is_at_least", json_boolean(topic->depth_is_at_least));
        cli_json_number(object, "depth_estimate", topic->depth_estimate);
        cli_json_time(object, "oldest_due_at", topic->oldest_due_at);
        cli_json_number(object, "done", topic->total_done);
        cli_json_number(object, "failed", topic->total_failed);
        cli_json_number(object, "expired", topic->total_expired);
        cli_json_number(object, "cancelled", topic->total_cancelled);
        json_array_append_new(array, object);
    }
    cli_json_print(stdout, array);
}

static pawl_status run_stats(const cli_args *args, pawl_error *err)
{
    PAWLI_AUTO(pawl_store) store = NULL;
    PAWLI_AUTO(pawl_stats) stats = NULL;
    pawl_wall now = PAWL_NEVER;
    pawl_status st;

    if (args->words.count > 0)
        return pawli_fail(err, PAWL_E_INVALID, "stats takes no words, only options; '%s' is one",
                          args->words.items[0]);
    st = cli_database_open(args, &store, err);
    if (st == PAWL_OK)
        st = pawl_outbox_stats(store, &stats, err);
    if (st == PAWL_OK)
        st = pawl_store_now(store, &now, err);
    if (st != PAWL_OK)
        return st;
    if (args->common.json)
        print_stats_json(stats);
    else
        print_stats_table(stats, now);
    return PAWL_OK;
}

const cli_verb cli_verb_stats = {
    .name = "stats",
    .usage = "",
    .summary = "how much waits, runs and ended, per topic",
    .about = "READY counts messages that wait, due or not; beyond 10,000 counting stops and the "
             "estimate is shown. OLDEST DUE is the one that has waited longest. The other columns "
             "count what ended since the tables were made; a message that failed, was retried and "
             "failed again counts twice.",
    .examples = "  pawl stats\n  pawl stats --json | jq '.[] | select(.failed > 0)'",
    .run = run_stats,
};
