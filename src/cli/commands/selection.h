/* src/cli/commands/selection.h - selecting messages on the command line: ids, states, filters. */
#ifndef CLI_SELECTION_H
#define CLI_SELECTION_H

#include <stdbool.h>

#include <pawl/message.h>
#include <pawl/outbox.h>

#include "args.h"

/* Return false to stop. `message` is valid during the call. */
typedef bool (*cli_message_visitor)(void *context, const pawl_message *message);

/* Newest first, from filter->after on. */
pawl_status cli_messages_walk(pawl_store *store, const pawl_outbox_filter *filter,
                              cli_message_visitor visit, void *context, pawl_error *err);

/*
 * Parses "ready", "running", ... and "dead" (failed, expired) to a bit set; comma lists,
 * repeatable.
 */
pawl_status cli_states_parse(const cli_texts *texts, unsigned *ret_states, pawl_error *err);
/* "failed, expired" */
void cli_states_text(unsigned states, char *ret_text, size_t size);

/* A number is a work id, a UUID a message id. */
typedef struct cli_id {
    const char *text;
    bool is_work;
    pawl_work_id work;
    pawl_uuid message;
} cli_id;

pawl_status cli_id_parse(const char *text, cli_id *ret_id, pawl_error *err);
/* PAWL_E_NOT_FOUND names the id. A list of one. */
pawl_status cli_id_find(pawl_store *store, const cli_id *id, pawl_messages **ret_one,
                        pawl_error *err);

/* --before ID (0: not given), for lists in the order of ids. */
pawl_page cli_page_before(int64_t id);
/* --after NAME (NULL: not given), for lists in the order of names. */
pawl_status cli_page_after(const char *name, pawl_page *ret_page, pawl_error *err);

#endif
