/* src/base/backoff.c - when to try again. The SQL of abandon computes the same (tests compare). */
#include <pawl/backoff.h>

int64_t pawl_backoff_delay_ms(const pawl_backoff *policy, int retries, uint64_t random)
{
    int64_t delay = policy->base_ms;

    for (int i = 0; i < retries && delay < policy->max_ms; i++)
        delay = delay > INT64_MAX / 2 ? INT64_MAX : delay * 2;
    if (delay > policy->max_ms)
        delay = policy->max_ms;
    if (policy->jitter_ms > 0)
        delay += (int64_t)(random % (uint64_t)(policy->jitter_ms + 1));
    return delay;
}
