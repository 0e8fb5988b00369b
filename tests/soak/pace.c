/* tests/soak/pace.c - so many a second, as the driver says on the standard input. */
#include "pace.h"

#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 20

static int64_t clock_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void pace_init(pace *p, double rate)
{
    *p = (pace){.rate = rate, .last_us = clock_us()};
}

static void take_byte(pace *p, char byte)
{
    if (byte == '\n') {
        p->line[p->length] = '\0';
        p->rate = strtod(p->line, NULL);
        p->length = 0;
    } else if (p->length + 1 < sizeof p->line) {
        p->line[p->length++] = byte;
    }
}

/* False: the input has ended. */
static bool read_input(pace *p, int wait_ms)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char bytes[64];

    if (poll(&input, 1, wait_ms) <= 0)
        return true;
    ssize_t size = read(STDIN_FILENO, bytes, sizeof bytes);
    for (ssize_t i = 0; i < size; i++)
        take_byte(p, bytes[i]);
    return size > 0;
}

static void count_due(pace *p)
{
    int64_t now_us = clock_us();

    p->owed += p->rate * (double)(now_us - p->last_us) / 1e6;
    p->last_us = now_us;
    if (p->owed > p->rate + 1)
        p->owed = p->rate + 1;
}

size_t pace_wait(pace *p, size_t most)
{
    int wait_ms = 0;

    for (;;) {
        if (!read_input(p, wait_ms))
            return 0;
        count_due(p);
        if (p->owed >= 1)
            break;
        wait_ms = TICK_MS;
    }
    size_t count = p->owed < (double)most ? (size_t)p->owed : most;
    p->owed -= (double)count;
    return count;
}
