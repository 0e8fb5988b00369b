/* src/db/thread_deadline.c - a time limit for the calls that this thread makes on any store. */
#include "thread_deadline.h"

static _Thread_local pawl_mono limit = {INT64_MAX};

void pawli_thread_deadline_begin(pawl_mono deadline)
{
    limit = deadline;
}

void pawli_thread_deadline_end(void)
{
    limit = (pawl_mono){INT64_MAX};
}

pawl_mono pawli_thread_deadline_apply(pawl_mono deadline)
{
    return limit.us < deadline.us ? limit : deadline;
}
