/*
 * tests/jobs/race_window.c - the moment between a scheduler's reading and its writing.
 *
 * It asks for one random number then. The numbers of ids are asked for in larger pieces, with a
 * lock held: not those.
 */
#include "race_window.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "platform.h"

static struct {
    void (*call)(void *); /* NULL: not armed */
    void *context;
    pthread_t thread;
} race_window;
static pawli_platform with_a_seam;

static void random_numbers(void *bytes, size_t size)
{
    void (*call)(void *) = race_window.call;

    if (call && size == sizeof(uint64_t) && pthread_equal(race_window.thread, pthread_self())) {
        race_window.call = NULL; /* what is called may arm it again */
        call(race_window.context);
    }
    pawli_platform_default.random(bytes, size);
}

void race_window_arm(void (*call)(void *), void *context)
{
    with_a_seam = pawli_platform_default;
    with_a_seam.random = random_numbers;
    race_window.thread = pthread_self();
    race_window.context = context;
    race_window.call = call;
    pawli_platform_install(&with_a_seam);
}

bool race_window_disarm(void)
{
    bool reached = !race_window.call;

    race_window.call = NULL;
    pawli_platform_install(NULL);
    return reached;
}
