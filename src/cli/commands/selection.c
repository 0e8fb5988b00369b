/* src/cli/commands/selection.c - selecting messages on the command line: ids, states, filters. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "database.h"
#include "fail.h"
#include "alloc.h"
#include "scope.h"
#include "selection.h"
#include "terminal_text.h"

#define DEAD (1u << PAWL_STATE_FAILED | 1u << PAWL_STATE_EXPIRED)

static unsigned state_bits(const char *name)
{
    if (strcmp(name, "dead") == 0)
        return DEAD;
    for (int i = 0; i < PAWL_STATE_COUNT; i++)
        if (strcmp(name, pawl_state_name((pawl_state)i)) == 0)
            return 1u << i;
    return 0;
}

static pawl_status unknown_state(const char *name, pawl_error *err)
{
    cli_suggestion nearest = {name, NULL, 0};

    cli_suggest(&nearest, "dead");
    for (int i = 0; i < PAWL_STATE_COUNT; i++)
        cli_suggest(&nearest, pawl_state_name((pawl_state)i));
    if (nearest.best)
        return pawli_fail(err, PAWL_E_INVALID, "unknown state '%s'; did you mean '%s'?", name,
                          nearest.best);
    return pawli_fail(err, PAWL_E_INVALID,
                      "unknown state '%s'; the states are scheduled, ready, running, done, failed, "
                      "expired, cancelled, and dead for failed and expired",
                      name);
}

pawl_status cli_states_parse(const cli_texts *texts, unsigned *ret_states, pawl_error *err)
{
    unsigned states = 0;

    for (size_t i = 0; i < texts->count; i++) {
        const char *at = texts->items[i];
        for (;;) {
            size_t length = strcspn(at, ",");
            PAWLI_AUTO_FREE char *name = cli_copy_bytes(at, length);
            for (char *c = name; *c; c++)
                *c = *c == '-' ? '_' : *c;
            unsigned bits = state_bits(name);
            if (bits == 0)
                return unknown_state(name, err);
            states |= bits;
            if (at[length] == '\0')
                break;
            at += length + 1;
        }
    }
    *ret_states = states;
    return PAWL_OK;
}

void cli_states_text(unsigned states, char *ret_text, size_t size)
{
    size_t used = 0;

    ret_text[0] = '\0';
    for (int i = 0; i < PAWL_STATE_COUNT; i++)
        if (states & 1u << i && used < size)
            used += (size_t)snprintf(ret_text + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     pawl_state_name((pawl_state)i));
}

pawl_status cli_id_parse(const char *text, cli_id *ret_id, pawl_error *err)
{
    cli_id id = {.text = text};
    pawl_error ignored;

    if (*text && text[strspn(text, "0123456789")] == '\0') {
        errno = 0;
        id.is_work = true;
        id.work.value = strtoll(text, NULL, 10);
        if (errno == 0 && id.work.value > 0) {
            *ret_id = id;
            return PAWL_OK;
        }
    } else if (pawl_uuid_parse(text, &id.message, &ignored) == PAWL_OK) {
        *ret_id = id;
        return PAWL_OK;
    }
    return pawli_fail(err, PAWL_E_INVALID,
                      "'%s' is neither a work id (a number) nor a message id (a UUID)", text);
}

pawl_status cli_id_find(pawl_store *store, const cli_id *id, pawl_messages **ret_one,
                        pawl_error *err)
{
    pawl_status st = id->is_work ? pawl_outbox_get(store, id->work, ret_one, err)
                                 : pawl_outbox_find(store, id->message, ret_one, err);

    if (st == PAWL_E_NOT_FOUND)
        return pawli_fail(err, st, "message %s does not exist (it may have been purged)", id->text);
    return st;
}

/* ---- pages ---- */

pawl_page cli_page_before(int64_t id)
{
    pawl_page page = PAWL_PAGE_INIT;

    if (id > 0)
        snprintf(page.text, sizeof page.text, "%lld", (long long)id);
    return page;
}

pawl_status cli_page_after(const char *name, pawl_page *ret_page, pawl_error *err)
{
    int size = snprintf(ret_page->text, sizeof ret_page->text, "%s", name ? name : "");

    if ((size_t)size >= sizeof ret_page->text)
        return pawli_fail(err, PAWL_E_INVALID, "--after is longer than any name");
    return PAWL_OK;
}

#define PAGE 1000

pawl_status cli_messages_walk(pawl_store *store, const pawl_outbox_filter *filter,
                              cli_message_visitor visit, void *context, pawl_error *err)
{
    pawl_outbox_filter page = *filter;

    if (page.limit <= 0 || page.limit > PAGE)
        page.limit = PAGE;
    do {
        PAWLI_AUTO(pawl_messages) list = NULL;
        pawl_page next = PAWL_PAGE_INIT;
        pawl_status st = pawl_outbox_list(store, &page, &list, &next, err);
        if (st != PAWL_OK)
            return st;
        for (size_t i = 0; i < pawl_messages_count(list); i++)
            if (!visit(context, pawl_messages_at(list, i)))
                return PAWL_OK;
        page.after = next;
    } while (!PAWL_PAGE_IS_NONE(page.after));
    return PAWL_OK;
}
