/* src/db/sleeper.c - being written down as asleep, so that senders notify. See wake-ups.md. */
#include "waiter_private.h"
#include "world.h"

#define SECOND_US INT64_C(1000000)
/* Senders pass over a row that was not renewed for 90 seconds. */
#define RENEW_US (20 * SECOND_US)
/* A notification of our own takes milliseconds. One that takes this long does not come. */
#define ECHO_US (10 * SECOND_US)
/* When it did not come: probably a pooler in between, which does not change by itself. */
#define DEAF_PAUSE_US (300 * SECOND_US)
#define LOST_PAUSE_US SECOND_US
/* The row of a worker that is busy goes, but not at once, and not often: who is idle again a moment
 * later need not write it again, and the table does not fill with dead rows. */
#define ERASE_SELDOM 50

static bool older(pawl_mono since, int64_t us)
{
    return pawli_mono_now().us - since.us >= us;
}

static pawl_status run_sleep(pawli_waiter *waiter, bool present, pawl_error *err)
{
    pawli_param params[] = {
        {"sleeper", pawli_uuid(waiter->id)},
        {"present", pawli_bool(present)},
    };
    pawli_op op = {
        .sql = PAWLI_SQL_SLEEP,
        .writes = true,
        .params = params,
        .param_count = PAWLI_COUNT(params),
    };
    pawl_status st = pawli_db_run(waiter->db, &op, err);

    if (st == PAWL_OK) {
        waiter->sleeper.echo_awaited = true;
        waiter->sleeper.echo_sent = pawli_mono_now();
    }
    return st;
}

static pawl_status read_settled(void *context, const pawli_row *row, pawl_error *err)
{
    pawli_sleeper *sleeper = context;

    (void)err;
    sleeper->epoch = pawli_row_int(row, 0);
    sleeper->settled = pawli_row_int(row, 1) != 0;
    return PAWL_OK;
}

static pawl_status ask_settled(pawli_waiter *waiter, pawl_error *err)
{
    pawli_sleeper *sleeper = &waiter->sleeper;
    pawli_param param = {"epoch",
                         sleeper->epoch ? pawli_int(sleeper->epoch) : pawli_null(PAWLI_INT)};
    pawli_op op = {
        .sql = PAWLI_SQL_SETTLED,
        .params = &param,
        .param_count = 1,
        .on_row = read_settled,
        .context = sleeper,
    };

    return pawli_db_run(waiter->db, &op, err);
}

/* Also when the row is there already: senders may have taken it for dead until now. */
static pawl_status write_down(pawli_waiter *waiter, pawl_error *err)
{
    pawli_sleeper *sleeper = &waiter->sleeper;
    pawl_status st = run_sleep(waiter, true, err);

    if (st != PAWL_OK)
        return st;
    sleeper->written = true;
    sleeper->settled = false;
    sleeper->epoch = 0; /* a new one, which only now is given out */
    return ask_settled(waiter, err);
}

pawl_status pawli_sleeper_arm(pawli_waiter *waiter, pawl_error *err)
{
    pawli_sleeper *sleeper = &waiter->sleeper;
    bool was_there = waiter->ear != NULL;
    pawli_heard heard;

    pawli_waiter_open_ear(waiter);
    if (!waiter->ear || !was_there)
        *sleeper = (pawli_sleeper){.erased = sleeper->erased};
    /* What is heard until here was committed before the claim that follows. */
    pawli_waiter_hear(waiter, &heard);
    if (heard.echo)
        pawli_sleeper_echo(waiter);
    if (waiter->ear && sleeper->echo_awaited && older(sleeper->echo_sent, ECHO_US))
        pawli_waiter_lose_ear(waiter, sleeper->proven ? LOST_PAUSE_US : DEAF_PAUSE_US);
    if (!waiter->ear)
        return PAWL_OK;
    if (!sleeper->proven)
        return sleeper->echo_awaited ? PAWL_OK : run_sleep(waiter, false, err);
    if (!sleeper->written || older(sleeper->echo_sent, RENEW_US))
        return write_down(waiter, err);
    return sleeper->settled ? PAWL_OK : ask_settled(waiter, err);
}

int64_t pawli_sleeper_longest_us(const pawli_waiter *waiter)
{
    if (!waiter->ear || !waiter->sleeper.written)
        return waiter->options.deaf_us;
    return waiter->sleeper.settled ? waiter->options.longest_us : waiter->options.unsettled_us;
}

bool pawli_sleeper_echo(pawli_waiter *waiter)
{
    waiter->sleeper.echo_awaited = false;
    waiter->sleeper.proven = true;
    return !waiter->sleeper.written;
}

void pawli_sleeper_erase(pawli_waiter *waiter)
{
    pawli_param param = {"sleeper", pawli_uuid(waiter->id)};
    pawli_op op = {.sql = PAWLI_SQL_AWAKE, .writes = true, .params = &param, .param_count = 1};

    if (!waiter->sleeper.written)
        return;
    /* If it fails, the row is taken for dead after a while. */
    (void)pawli_db_run(waiter->db, &op, NULL);
    waiter->sleeper.written = false;
    waiter->sleeper.erased = pawli_mono_now();
}

void pawli_sleeper_busy(pawli_waiter *waiter)
{
    pawli_sleeper *sleeper = &waiter->sleeper;
    int64_t linger_us = waiter->options.linger_us;

    if (waiter->armed)
        sleeper->busy_since = pawli_mono_now();
    else if (sleeper->written && older(sleeper->busy_since, linger_us) &&
             older(sleeper->erased, ERASE_SELDOM * linger_us))
        pawli_sleeper_erase(waiter);
}
