/* src/base/platform.h - the single access point to time and randomness. */
#ifndef PAWLI_PLATFORM_H
#define PAWLI_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/clock.h>

/* Tests can replace it: they install a table of their own before any other thread runs. */
typedef struct pawli_platform {
    pawl_wall (*wall_now)(void);
    pawl_mono (*mono_now)(void);
    void (*random)(void *bytes, size_t size);
    /* Sleeps; used only for bounded backoff inside a call. */
    void (*sleep_us)(int64_t us);
} pawli_platform;

extern const pawli_platform pawli_platform_default;
void pawli_platform_install(const pawli_platform *replacement); /* NULL: the real one */

pawl_wall pawli_wall_now(void);
pawl_mono pawli_mono_now(void);
/*
 * Identifies the boot clock: the same text in all processes of a machine until it reboots, a
 * different one in a time namespace. If the system does not provide it, it is unique to this
 * process.
 */
const char *pawli_boot_id(void);

/*
 * The boot clock for a store's time: pawli_mono_now() under a separate name, so that tests can
 * replace it.
 */
int64_t pawli_boot_now_us(void);
uint64_t pawli_random_u64(void);
void pawli_random_bytes(void *bytes, size_t size);
void pawli_sleep_us(int64_t us);

static inline pawl_mono pawli_mono_after(pawl_mono start, int64_t us)
{
    return (pawl_mono){start.us + us};
}
/* Microseconds left, never below 0. */
int64_t pawli_mono_left(pawl_mono deadline);
/* The same in milliseconds, rounded up, for poll(). */
int pawli_mono_left_ms(pawl_mono deadline);
bool pawli_mono_passed(pawl_mono deadline);

#endif
