/* src/cli/timer_list.h - listing pending timers, by due time. */
#ifndef CLI_TIMER_LIST_H
#define CLI_TIMER_LIST_H

#include <pawl/timer.h>

#include "args.h"
#include "memory.h"

CLI_AUTO_DEFINE(pawl_scheduler, pawl_scheduler_free);

/* Prints at most `limit` of the timers that `given` selects, page by page. */
pawl_status cli_timer_list(const cli_args *args, pawl_store *store, const pawl_timer_query *given,
                           int64_t limit, pawl_error *err);

#endif
