/* src/core/timer_private.h - declarations shared by the strategies of this directory. */
#ifndef PAWLI_TIMER_PRIVATE_H
#define PAWLI_TIMER_PRIVATE_H

#include <stddef.h>

/* The limit of the most restrictive engine: a timer that `memory` accepts, a store accepts, too. */
#define TIMER_PAYLOAD_MAX_BYTES ((size_t)1000000000 - (size_t)1024 * 1024)

#endif
