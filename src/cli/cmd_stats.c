/* src/cli/cmd_stats.c - pawl stats: counts per topic. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "database.h"
#include "fail.h"
#include "output.h"
#include "table.h"
#include "view.h"

#define NUMBER_SIZE 32

/* "12,345" */
static const char *grouped(int64_t number, char ret_text[NUMBER_SIZE])
{
    char digits[NUMBER_SIZE];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%" PRId64, number);
    size_t used = 0;

    for (size_t i = 0; i < length && used + 2 < NUMBER_SIZE; i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-')
            ret_text[used++] = ',';
        ret_text[used++] = digits[i];
    }
    ret_text[used] = '\0';
    return ret_text;
}

static void number_cell(cli_table *table, int64_t number, cli_color color_if_any)
{
    char text[NUMBER_SIZE];

    cli_table_cell(table, number > 0 ? color_if_any : CLI_PLAIN, "%s", grouped(number, text));
}

/* Counting stops at 10,000: "≥ 10,000 (~123,456)". */
static void ready_cell(cli_table *table, const pawl_topic_stats *topic)
{
    char least[NUMBER_SIZE];
    char estimate[NUMBER_SIZE];

    if (topic->depth_is_at_least)
        cli_table_cell(table, CLI_PLAIN, ">= %s (~%s)", grouped(topic->ready, least),
                       grouped(topic->depth_estimate - topic->in_progress, estimate));
    else
        number_cell(table, topic->ready, CLI_PLAIN);
}

static void add_row(cli_table *table, const pawl_topic_stats *topic, pawl_wall now)
{
    char when[CLI_WHEN_SIZE];

    cli_table_cell(table, CLI_PLAIN, "%s", topic->topic);
    ready_cell(table, topic);
    number_cell(table, topic->in_progress, CLI_YELLOW);
    cli_table_cell(table, CLI_PLAIN, "%s",
                   topic->oldest_due_at.us == PAWL_NEVER.us
                       ? "-"
                       : cli_view_time(topic->oldest_due_at, now, when));
    number_cell(table, topic->total_done, CLI_GREEN);
    number_cell(table, topic->total_failed, CLI_RED);
    number_cell(table, topic->total_expired, CLI_MAGENTA);
    number_cell(table, topic->total_cancelled, CLI_DIM);
}

static void add_up(pawl_topic_stats *sum, const pawl_topic_stats *topic)
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

static void print_table(const pawl_stats *stats, pawl_wall now)
{
    static const cli_column columns[] = {
        {"TOPIC", false}, {"READY", true},  {"IN PROGRESS", true}, {"OLDEST DUE", false},
        {"DONE", true},   {"FAILED", true}, {"EXPIRED", true},     {"CANCELLED", true}};
    CLI_AUTO(cli_table) table = cli_table_new(columns, CLI_COUNT(columns));
    pawl_topic_stats sum = {.topic = "(all)"};

    if (pawl_stats_count(stats) == 0) {
        fputs("Nothing was sent here yet.\n", stderr);
        return;
    }
    for (size_t i = 0; i < pawl_stats_count(stats); i++) {
        add_row(table, pawl_stats_at(stats, i), now);
        add_up(&sum, pawl_stats_at(stats, i));
    }
    if (pawl_stats_count(stats) > 1)
        add_row(table, &sum, now);
    cli_table_print(table, stdout);
}

static void print_json(const pawl_stats *stats)
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

static pawl_status run(const cli_args *args, pawl_error *err)
{
    CLI_AUTO(pawl_store) store = NULL;
    CLI_AUTO(pawl_stats) stats = NULL;
    pawl_wall now = PAWL_NEVER;
    pawl_status st;

    if (args->words.count > 0)
        return cli_fail(err, PAWL_E_INVALID, "stats takes no words, only options; '%s' is one",
                        args->words.items[0]);
    st = cli_database_open(args, &store, err);
    if (st == PAWL_OK)
        st = pawl_outbox_stats(store, &stats, err);
    if (st == PAWL_OK)
        st = pawl_store_now(store, &now, err);
    if (st != PAWL_OK)
        return st;
    if (args->common.json)
        print_json(stats);
    else
        print_table(stats, now);
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
    .run = run,
};
