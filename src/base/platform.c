/* src/base/platform.c - the single access point to time and randomness. */
#include "platform.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static pawl_wall real_wall_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (pawl_wall){(int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000};
}

static pawl_mono real_mono_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (pawl_mono){(int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000};
}

static void real_random(void *bytes, size_t size)
{
    unsigned char *at = bytes;

    /* Blocks only until the kernel's pool is first seeded; the only error is EINTR. */
    while (size > 0) {
        ssize_t got = getrandom(at, size, 0);
        if (got < 0)
            continue;
        at += got;
        size -= (size_t)got;
    }
}

static void real_sleep_us(int64_t us)
{
    struct timespec left = {us / 1000000, us % 1000000 * 1000};

    while (us > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

const pawli_platform pawli_platform_default = {real_wall_now, real_mono_now, real_random,
                                               real_sleep_us};

static _Atomic(const pawli_platform *) platform = &pawli_platform_default;

void pawli_platform_install(const pawli_platform *replacement)
{
    atomic_store(&platform, replacement ? replacement : &pawli_platform_default);
}

pawl_wall pawli_wall_now(void)
{
    return atomic_load_explicit(&platform, memory_order_relaxed)->wall_now();
}

pawl_mono pawli_mono_now(void)
{
    return atomic_load_explicit(&platform, memory_order_relaxed)->mono_now();
}

static char boot_id[128];
static pthread_once_t boot_id_once = PTHREAD_ONCE_INIT;

static void read_boot_id(void)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    char name[64] = "", namespace[48] = "";

    if (file && !fgets(name, sizeof name, file))
        name[0] = '\0';
    if (file)
        fclose(file);
    name[strcspn(name, "\n")] = '\0';
    if (name[0] == '\0')
        snprintf(name, sizeof name, "process %016" PRIx64, pawli_random_u64());
    ssize_t size = readlink("/proc/self/ns/time", namespace, sizeof namespace - 1);
    namespace[size > 0 ? size : 0] = '\0'; /* an old kernel has no time namespaces */
    snprintf(boot_id, sizeof boot_id, "%s %s", name, namespace);
}

int64_t pawli_boot_now_us(void)
{
    return pawli_mono_now().us;
}

const char *pawli_boot_id(void)
{
    pthread_once(&boot_id_once, read_boot_id);
    return boot_id;
}

void pawli_random_bytes(void *bytes, size_t size)
{
    atomic_load_explicit(&platform, memory_order_relaxed)->random(bytes, size);
}

uint64_t pawli_random_u64(void)
{
    uint64_t value;

    pawli_random_bytes(&value, sizeof value);
    return value;
}

void pawli_sleep_us(int64_t us)
{
    atomic_load_explicit(&platform, memory_order_relaxed)->sleep_us(us);
}

int64_t pawli_mono_left(pawl_mono deadline)
{
    int64_t left = deadline.us - pawli_mono_now().us;

    return left > 0 ? left : 0;
}

int pawli_mono_left_ms(pawl_mono deadline)
{
    int64_t ms = (pawli_mono_left(deadline) + 999) / 1000;

    return ms > INT_MAX ? INT_MAX : (int)ms;
}

bool pawli_mono_passed(pawl_mono deadline)
{
    return pawli_mono_left(deadline) == 0;
}
