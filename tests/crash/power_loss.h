/* tests/crash/power_loss.h - power is lost, at one operation after the other, while a test
 * continues.
 */
#ifndef PAWL_CRASH_POWER_LOSS_H
#define PAWL_CRASH_POWER_LOSS_H

#include "crash_campaign.h"

typedef struct power_scenario {
    /* Make an empty store at `path`; the power stays. */
    bool (*prepare)(const char *path);
    /* Until a call is not done, or the end. */
    void (*run)(void *context, const char *path);
    /* Is what is at `path` after a restart as it was returned? False: `ret_text` says what is not.
     */
    bool (*check)(void *context, const char *path, char *ret_text, size_t size);
    void *context;
    bool syncs_lie; /* deliberately broken: it ends with the first violation */
} power_scenario;

/* At operation 1, 1 + stride, ...; every kind of loss at each of them. */
void power_loss_run(const char *directory, const power_scenario *s, long stride,
                    crash_campaign_result *ret_result);

/* The store at `path`; NULL: it cannot be opened. */
pawl_store *power_loss_open(const char *path, bool deploy, pawl_error *err);

#endif
