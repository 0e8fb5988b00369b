/* src/transport/target.h - what a delivery knows of one destination: its places, its breaker. */
#ifndef PAWLI_TARGET_H
#define PAWLI_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/delivery.h>

#include "breaker.h"

typedef struct pawli_target {
    pawl_destination_stats stats; /* its name is `name` */
    pawli_breaker breaker;
    pawl_mono quiet_until; /* the destination asked for it */
    bool wanted;           /* something was waiting for it when last asked */
    char name[];
} pawli_target;

/* By name. Only the delivery's thread changes them, under its lock; so it reads without. */
typedef struct pawli_targets {
    pawli_target **items;
    size_t count;
    size_t capacity;
} pawli_targets;

void pawli_targets_done(pawli_targets *targets);
/* The target of this name; made if there is none. NULL: out of memory. */
pawli_target *pawli_targets_get(pawli_targets *targets, const char *name,
                                const pawli_breaker_policy *policy);

/* How many messages may be claimed for it now; asking may half-open its breaker. */
size_t pawli_target_room(pawli_target *target, const pawl_services *services, pawl_mono now);
/* When there may be room again though nothing has ended; INT64_MAX: no such time. */
pawl_mono pawli_target_ready_at(const pawli_target *target);

#endif
