/* src/cli/mono.h - monotonic time for waits and deadlines: CLOCK_BOOTTIME, as in the library. */
#ifndef CLI_MONO_H
#define CLI_MONO_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <pawl/clock.h>

static inline pawl_mono cli_mono_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (pawl_mono){(int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000};
}

static inline pawl_mono cli_mono_after(pawl_mono start, int64_t ms)
{
    return (pawl_mono){start.us + ms * 1000};
}

static inline bool cli_mono_reached(pawl_mono now, pawl_mono moment)
{
    return now.us >= moment.us;
}

static inline int64_t cli_mono_ms_between(pawl_mono from, pawl_mono to)
{
    return (to.us - from.us) / 1000;
}

#endif
