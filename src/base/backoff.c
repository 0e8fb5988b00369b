/* src/base/backoff.c - the delay before a retry. The SQL of abandon computes the same (tests
 * compare). */
#include <pawl/backoff.h>

int64_t pawl_backoff_delay_ms(const pawl_backoff *policy, int retries, uint64_t random)
{
    int64_t delay = policy->base_ms;

    for (int i = 0; i < retries && delay < policy->max_ms; i++)
        delay = delay > INT64_MAX / 2 ? INT64_MAX : delay * 2;
    if (delay > policy->max_ms)
        delay = policy->max_ms;
    int64_t jitter = policy->jitter_ms == PAWL_JITTER_TENTH ? delay / 10 : policy->jitter_ms;
    if (jitter > 0)
        delay += (int64_t)(random % (uint64_t)(jitter + 1));
    return delay;
}
