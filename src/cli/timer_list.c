/* src/cli/timer_list.c - what is pending, by due time. */
#include "timer_list.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli.h"
#include "database.h"
#include "output.h"
#include "table.h"
#include "view.h"

#define PAGE 1000

static const cli_column columns[] = {
    {"ID", true},           {"TOPIC", false},       {"DUE", false},       {"PRIORITY", true},
    {"DESTINATION", false}, {"CORRELATION", false}, {"MESSAGE ID", false}};

typedef struct gathering {
    json_t *array;    /* with --json */
    cli_table *table; /* otherwise */
    pawl_wall now;
    int64_t count;
} gathering;

static const char *or_dash(const char *text)
{
    return text ? text : "-";
}

static void add_row(cli_table *table, const pawl_message *message, pawl_wall now)
{
    char when[CLI_WHEN_SIZE];
    char id[PAWL_UUID_TEXT_SIZE];

    pawl_message_id_format(pawl_message_get_id(message), id);
    cli_table_cell(table, CLI_PLAIN, "%" PRId64, pawl_message_work_id(message).value);
    cli_table_cell(table, CLI_PLAIN, "%s", pawl_message_topic(message));
    cli_table_cell(table, CLI_PLAIN, "%s",
                   cli_view_time(pawl_message_next_attempt_at(message), now, when));
    cli_table_cell(table, CLI_PLAIN, "%d", pawl_message_priority(message));
    cli_table_cell(table, CLI_PLAIN, "%s", or_dash(pawl_message_destination(message)));
    cli_table_cell(table, CLI_PLAIN, "%s", or_dash(pawl_message_correlation_id(message)));
    cli_table_cell(table, CLI_DIM, "%s", id);
}

static void gather(gathering *to, const pawl_messages *page)
{
    for (size_t i = 0; i < pawl_messages_count(page); i++, to->count++) {
        const pawl_message *message = pawl_messages_at(page, i);

        if (to->array)
            json_array_append_new(to->array, cli_view_json(message));
        else
            add_row(to->table, message, to->now);
    }
}

static pawl_status gather_pages(pawl_store *store, pawl_timer_query *query, int64_t limit,
                                gathering *to, pawl_error *err)
{
    CLI_AUTO(pawl_scheduler) scheduler = NULL;
    pawl_status st = pawl_scheduler_new_on_store(store, &scheduler, err);

    while (st == PAWL_OK) {
        CLI_AUTO(pawl_messages) page = NULL;

        query->limit = limit - to->count < PAGE ? (int)(limit - to->count) : PAGE;
        st = pawl_timer_pending(scheduler, query, &page, &query->after, err);
        if (st == PAWL_OK)
            gather(to, page);
        if (query->after.id.value == 0 || to->count == limit)
            break;
    }
    return st;
}

static void print(const gathering *found, bool more)
{
    if (found->count == 0) {
        fputs("No timers are pending.\n", stderr);
        return;
    }
    cli_table_print(found->table, stdout);
    if (!more)
        return;
    fflush(stdout);
    fprintf(stderr, "%sMore: add --from with the last time, or a larger --limit.%s\n",
            cli_style(stderr, CLI_DIM), cli_style(stderr, CLI_PLAIN));
}

pawl_status cli_timer_list(const cli_args *args, pawl_store *store, const pawl_timer_query *given,
                           int64_t limit, pawl_error *err)
{
    CLI_AUTO(cli_table) table = cli_table_new(columns, CLI_COUNT(columns));
    pawl_timer_query query = *given;
    gathering found = {.table = table};
    pawl_status st = pawl_store_now(store, &found.now, err);

    if (st != PAWL_OK)
        return st;
    found.array = args->common.json ? json_array() : NULL;
    st = gather_pages(store, &query, limit, &found, err);
    if (st != PAWL_OK)
        json_decref(found.array);
    else if (found.array)
        cli_json_print(stdout, found.array);
    else
        print(&found, query.after.id.value != 0);
    return st;
}
