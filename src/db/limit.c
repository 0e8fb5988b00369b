/* src/db/limit.c - a time limit for the calls that this thread makes on any store. */
#include "limit.h"

static _Thread_local pawl_mono limit = {INT64_MAX};

void pawli_limit_begin(pawl_mono deadline)
{
    limit = deadline;
}

void pawli_limit_end(void)
{
    limit = (pawl_mono){INT64_MAX};
}

pawl_mono pawli_limit_apply(pawl_mono deadline)
{
    return limit.us < deadline.us ? limit : deadline;
}
