/* src/cli/listing.c - walking over every message that matches a filter, page by page. */
#include "database.h"
#include "listing.h"

#define PAGE 1000

pawl_status cli_listing_walk(pawl_store *store, const pawl_filter *filter, cli_listing_fn visit,
                             void *context, pawl_error *err)
{
    pawl_filter page = *filter;

    if (page.limit <= 0 || page.limit > PAGE)
        page.limit = PAGE;
    do {
        CLI_AUTO(pawl_messages) list = NULL;
        pawl_work_id next = {0};
        pawl_status st = pawl_outbox_list(store, &page, &list, &next, err);
        if (st != PAWL_OK)
            return st;
        for (size_t i = 0; i < pawl_messages_count(list); i++)
            if (!visit(context, pawl_messages_at(list, i)))
                return PAWL_OK;
        page.before = next;
    } while (page.before.value > 0);
    return PAWL_OK;
}
