/* src/core/timer_private.h - what the strategies of this folder share. */
#ifndef PAWLI_TIMER_PRIVATE_H
#define PAWLI_TIMER_PRIVATE_H

#include <stddef.h>

/* As much as the engine that takes least: a timer that memory takes, a store takes, too. */
#define TIMER_PAYLOAD_MAX_BYTES ((size_t)1000000000 - (size_t)1024 * 1024)

#endif
