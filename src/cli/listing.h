/* src/cli/listing.h - iterating over all messages that match a filter, page by page. */
#ifndef CLI_LISTING_H
#define CLI_LISTING_H

#include <stdbool.h>

#include <pawl/outbox.h>

/* Return false to stop. `message` is valid during the call. */
typedef bool (*cli_listing_fn)(void *context, const pawl_message *message);

/* Newest first, from filter->before on. */
pawl_status cli_listing_walk(pawl_store *store, const pawl_filter *filter, cli_listing_fn visit,
                             void *context, pawl_error *err);

#endif
