/* tests/crash/power_loss.c - power is lost, at one operation after the other, while a test
 * continues.
 */
#include "power_loss.h"

#include <stdio.h>

pawl_store *power_loss_open(const char *path, bool deploy, pawl_error *err)
{
    pawl_store_options opts = PAWL_STORE_OPTIONS_INIT;
    pawl_store *store = NULL;
    char url[1100];

    opts.deploy_schema = deploy;
    snprintf(url, sizeof url, "sqlite:%s", path);
    return pawl_store_open(url, &opts, &store, err) == PAWL_OK ? store : NULL;
}

static void check_image(const char *directory, const power_scenario *s, long at, disk_loss loss,
                        crash_campaign_result *result)
{
    char path[1024], folder[1024], text[512] = "the image could not be written";

    crash_campaign_clear(directory, "image", path, sizeof path);
    snprintf(folder, sizeof folder, "%s/image", directory);
    result->points++;
    if (crash_vfs_image(folder, loss, (uint64_t)at) &&
        s->check(s->context, path, text, sizeof text))
        return;
    result->violations++;
    if (!result->first[0])
        snprintf(result->first, sizeof result->first, "operation %ld, %s: %s", at,
                 disk_loss_name(loss), text);
}

/* False: the operation was not reached any more. */
static bool lose_power(const char *directory, const power_scenario *s, long at,
                       crash_campaign_result *result)
{
    crash_plan plan = {.power_lost_at = at, .syncs_lie = s->syncs_lie};
    char path[1024];

    crash_campaign_clear(directory, "live", path, sizeof path);
    if (!s->prepare(path)) {
        result->violations++;
        snprintf(result->first, sizeof result->first, "the store cannot be made");
        return false;
    }
    crash_vfs_begin(&plan);
    s->run(s->context, path);
    crash_vfs_end();
    bool lost = crash_vfs_power_lost();
    for (int loss = 0; loss < DISK_LOSS_COUNT; loss++)
        check_image(directory, s, at, (disk_loss)loss, result);
    if (!lost)
        result->operations = crash_vfs_operations();
    crash_vfs_forget();
    return lost;
}

void power_loss_run(const char *directory, const power_scenario *s, long stride,
                    crash_campaign_result *ret_result)
{
    long at = 1;

    *ret_result = (crash_campaign_result){0};
    while (lose_power(directory, s, at, ret_result) &&
           !(s->syncs_lie && ret_result->violations > 0))
        at += stride;
}
