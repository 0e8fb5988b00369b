/* bench/basics.c - what every part of the bench needs: giving up, time, memory, ids, the payload.
 */
#include "basics.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

const char bench_payload[] =
    "{\"order\":4711,\"customer\":\"a name of usual length\",\"lines\":[1,2]}";
const size_t bench_payload_size = sizeof bench_payload - 1;

void die(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);

    if (!memory)
        die("out of memory");
    return memory;
}

static struct timespec read_clock(clockid_t id)
{
    struct timespec now = {0};

    clock_gettime(id, &now);
    return now;
}

double seconds_now(void)
{
    struct timespec now = read_clock(CLOCK_MONOTONIC);

    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int64_t wall_us_now(void)
{
    struct timespec now = read_clock(CLOCK_REALTIME);

    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* `value` with the highest byte first. */
static void put_bytes(uint8_t *place, uint64_t value, int size)
{
    for (int i = 0; i < size; i++)
        place[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
}

void message_id_make(int64_t us, uint8_t ret_id[MESSAGE_ID_SIZE])
{
    static _Thread_local uint32_t mine; /* tells the threads apart */
    static _Thread_local uint32_t sequence;

    if (mine == 0 && getrandom(&mine, sizeof mine, 0) != (ssize_t)sizeof mine)
        die("the system gives no random numbers");
    put_bytes(ret_id, (uint64_t)(us / 1000), 6);
    put_bytes(ret_id + 6, 0x7000u | (uint64_t)(us % 1000 * 4), 2);
    put_bytes(ret_id + 8, UINT64_C(1) << 63 | (uint64_t)sequence << 31 | mine >> 1, 8);
    sequence++;
}

static char names[TOPICS_MAX][16];

static void name_topics(void)
{
    for (int i = 0; i < TOPICS_MAX; i++)
        snprintf(names[i], sizeof names[i], "bench.%d", i);
}

const char *topic_name(int number)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, name_topics);
    return names[number];
}
