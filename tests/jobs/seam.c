/*
 * tests/jobs/seam.c - the moment between a scheduler's reading and its writing.
 *
 * It asks for one random number then. The numbers of ids are asked for in larger pieces, with a
 * lock held: not those.
 */
#include "seam.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "world.h"

static struct {
    void (*call)(void *); /* NULL: not armed */
    void *context;
    pthread_t thread;
} seam;
static pawli_world with_a_seam;

static void random_numbers(void *bytes, size_t size)
{
    void (*call)(void *) = seam.call;

    if (call && size == sizeof(uint64_t) && pthread_equal(seam.thread, pthread_self())) {
        seam.call = NULL; /* what is called may arm it again */
        call(seam.context);
    }
    pawli_world_real.random(bytes, size);
}

void seam_arm(void (*call)(void *), void *context)
{
    with_a_seam = pawli_world_real;
    with_a_seam.random = random_numbers;
    seam.thread = pthread_self();
    seam.context = context;
    seam.call = call;
    pawli_world_install(&with_a_seam);
}

bool seam_disarm(void)
{
    bool reached = !seam.call;

    seam.call = NULL;
    pawli_world_install(NULL);
    return reached;
}
