/* src/cli/cmd_topic.c - pawl topic: stop and go on with whole topics, and list them. */
#include <stdio.h>

#include <pawl/topic.h>

#include "action.h"
#include "cli.h"
#include "database.h"
#include "fail.h"
#include "output.h"
#include "table.h"
#include "view.h"

CLI_AUTO_DEFINE(pawl_topics, pawl_topics_free);

typedef pawl_status (*topic_change)(pawl_store *store, const char *topic, bool *ret_changed,
                                    pawl_error *err);

typedef struct topic_action {
    const char *name;
    topic_change change; /* NULL: list */
    const char *done;
    const char *already;
} topic_action;

static const topic_action actions[] = {
    {"pause", pawl_topic_pause, "paused", "was paused already"},
    {"resume", pawl_topic_resume, "resumed", "was not paused"},
    {"ls", NULL, NULL, NULL},
};

static const char usage[] =
    "say 'pawl topic pause TOPIC...', 'pawl topic resume TOPIC...' or 'pawl topic ls'";

static pawl_status change_topics(const cli_args *args, pawl_store *store,
                                 const topic_action *action, pawl_error *err)
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

static void print_table(const pawl_topics *topics, pawl_wall now)
{
    static const cli_column columns[] = {{"TOPIC", false}, {"STATE", false}, {"SINCE", false}};
    CLI_AUTO(cli_table) table = cli_table_new(columns, CLI_COUNT(columns));

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
                       paused ? cli_view_time(topic->paused_at, now, when) : "-");
    }
    cli_table_print(table, stdout);
}

static void print_json(const pawl_topics *topics)
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
    CLI_AUTO(pawl_topics) topics = NULL;
    pawl_wall now = PAWL_NEVER;
    pawl_status st = pawl_topic_list(store, &topics, err);

    if (st == PAWL_OK)
        st = pawl_store_now(store, &now, err);
    if (st != PAWL_OK)
        return st;
    if (args->common.json)
        print_json(topics);
    else
        print_table(topics, now);
    return PAWL_OK;
}

static pawl_status run(const cli_args *args, pawl_error *err)
{
    CLI_AUTO(pawl_store) store = NULL;
    const topic_action *action = CLI_ACTION(args, actions, usage, err);
    pawl_status st;

    if (!action)
        return PAWL_E_INVALID;
    if (action->change && args->words.count < 2)
        return cli_fail(err, PAWL_E_INVALID, "which topic? For example 'pawl topic %s mail'",
                        action->name);
    if (!action->change && args->words.count > 1)
        return cli_fail(err, PAWL_E_INVALID, "topic ls takes no more words; '%s' is one",
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
    .run = run,
};
