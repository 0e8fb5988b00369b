/* src/db/waiter.c - how a claiming thread waits until there may be something to claim. */
#include "waiter.h"

#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "fail.h"
#include "log.h"
#include "uuid.h"
#include "waiter_private.h"
#include "platform.h"

/* How long opening the commit listener may take, and the pause after a failure. */
#define OPEN_US INT64_C(5000000)
#define OPEN_AGAIN_US INT64_C(5000000)

pawl_status pawli_waiter_new(pawli_db *db, const pawli_waiter_options *opts,
                             pawli_waiter **ret_waiter, pawl_error *err)
{
    pawli_waiter *waiter = calloc(1, sizeof *waiter);

    if (!waiter)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a waiting worker");
    waiter->db = db;
    waiter->driver = db->settings.driver;
    waiter->method = waiter->driver->wait_method;
    waiter->options = opts ? *opts : (pawli_waiter_options)PAWLI_WAITER_OPTIONS_INIT;
    pawli_uuid_new(waiter->id);
    pawli_uuid_format(waiter->id, waiter->token);
    atomic_init(&waiter->called, false);
    waiter->watched_fd = -1;
    waiter->reopen_at = pawli_mono_now();
    pawl_status st = PAWL_OK;
    if (!pawli_wake_register(&db->wake, &waiter->wake_fd))
        st = pawli_fail(err, PAWL_E_NOMEM, "out of descriptors for a waiting worker");
    else if (waiter->method->open)
        st = waiter->method->open(waiter, err);
    if (st == PAWL_OK) {
        *ret_waiter = waiter;
        return PAWL_OK;
    }
    pawli_wake_unregister(&db->wake, &waiter->wake_fd);
    free(waiter);
    return st;
}

void pawli_waiter_free(pawli_waiter *waiter)
{
    if (!waiter)
        return;
    if (waiter->method->close)
        waiter->method->close(waiter);
    if (waiter->listener)
        waiter->driver->listener_close(waiter->listener);
    pawli_wake_unregister(&waiter->db->wake, &waiter->wake_fd);
    free(waiter);
}

void pawli_waiter_wake(pawli_waiter *waiter)
{
    atomic_store(&waiter->called, true);
    pawli_wake_signal_one(&waiter->db->wake, &waiter->wake_fd);
}

/* ---- the commit listener ---- */

/* If it cannot be opened, the waiter polls: the failure is no reason to stop working. */
void pawli_waiter_open_listener(pawli_waiter *waiter)
{
    pawl_error why = PAWL_ERROR_INIT;
    pawl_mono now = pawli_mono_now();

    if (waiter->listener || !waiter->options.use_notify || now.us < waiter->reopen_at.us)
        return;
    pawl_mono deadline = pawli_mono_after(now, OPEN_US);
    if (waiter->driver->listener_open(&waiter->db->settings, waiter->token, deadline,
                                      &waiter->listener, &why) == PAWL_OK)
        return;
    pawli_log(&waiter->db->log, PAWL_LOG_DEBUG, "store", "polling, no commit listener: {error}",
              pawli_logged("store", waiter->driver->name), pawli_logged("error", why.message));
    waiter->reopen_at = pawli_mono_after(pawli_mono_now(), OPEN_AGAIN_US);
}

void pawli_waiter_close_listener(pawli_waiter *waiter, int64_t pause_us)
{
    waiter->driver->listener_close(waiter->listener);
    waiter->listener = NULL;
    waiter->reopen_at = pawli_mono_after(pawli_mono_now(), pause_us);
}

void pawli_waiter_read_events(pawli_waiter *waiter, pawli_commit_events *ret_events)
{
    pawl_error why = PAWL_ERROR_INIT;

    *ret_events = (pawli_commit_events){0};
    if (!waiter->listener)
        return;
    if (waiter->driver->listener_read(waiter->listener, ret_events, &why) == PAWL_OK)
        return;
    pawli_log(&waiter->db->log, PAWL_LOG_DEBUG, "store",
              "lost the commit listener, polling for now: {error}",
              pawli_logged("store", waiter->driver->name), pawli_logged("error", why.message));
    pawli_waiter_close_listener(waiter, 0);
}

/* ---- arming ---- */

/* Sends of this process need not be signaled twice. */
static bool wants_sends(const pawli_waiter *waiter)
{
    return !waiter->notified || !waiter->listener;
}

typedef struct due_row {
    pawl_wall now;
    pawl_wall due; /* PAWL_TIME_UNSET: no message is waiting */
} due_row;

static pawl_status read_due(void *context, const pawli_row *row, pawl_error *err)
{
    due_row *due = context;

    (void)err;
    due->now = pawli_row_time(row, 0);
    due->due = pawli_row_time(row, 1);
    return PAWL_OK;
}

/* The database's clock determines the time left; the local clock measures it. */
pawl_status pawli_waiter_query_due(pawli_waiter *waiter, pawl_error *err)
{
    due_row row = {PAWL_TIME_UNSET, PAWL_TIME_UNSET};
    pawli_param params[] = {
        {"topics", pawli_texts(waiter->topics, waiter->topic_count)},
        {"destinations", pawli_texts(waiter->destinations, waiter->destination_count)},
        {"others", pawli_bool(waiter->others)},
    };
    pawli_op op = {
        .sql = PAWLI_SQL_NEXT_DUE,
        .params = params,
        .param_count = sizeof params / sizeof *params,
        .on_row = read_due,
        .context = &row,
    };
    pawl_status st = pawli_db_run(waiter->db, &op, err);

    if (st != PAWL_OK)
        return st;
    waiter->has_due = row.due.us != 0;
    if (waiter->has_due)
        waiter->due = pawli_mono_after(pawli_mono_now(), row.due.us - row.now.us);
    return PAWL_OK;
}

/*
 * All of this happens before the claim that follows: events that are discarded here and results
 * that are read here are not newer than what that claim sees.
 */
static pawl_status waiter_arm(pawli_waiter *waiter, pawl_error *err)
{
    waiter->armed = false;
    pawl_status st = waiter->method->arm(waiter, err);
    if (st != PAWL_OK)
        return st;
    waiter->sent = pawli_wake_clear(&waiter->db->wake, &waiter->wake_fd, wants_sends(waiter)).sent;
    st = pawli_waiter_query_due(waiter, err);
    waiter->armed = st == PAWL_OK;
    return st;
}

pawl_status pawli_waiter_arm(pawli_waiter *waiter, const char *const *topics, size_t topic_count,
                             pawl_error *err)
{
    waiter->topics = topics;
    waiter->topic_count = topic_count;
    waiter->destinations = NULL;
    waiter->destination_count = 0;
    waiter->others = false;
    return waiter_arm(waiter, err);
}

pawl_status pawli_waiter_arm_remote(pawli_waiter *waiter, const char *const *names, size_t count,
                                    bool others, pawl_error *err)
{
    static const char *const none[1] = {NULL};

    waiter->topics = NULL;
    waiter->topic_count = 0;
    waiter->destinations = names ? names : none;
    waiter->destination_count = names ? count : 0;
    waiter->others = others;
    return waiter_arm(waiter, err);
}

void pawli_waiter_watch(pawli_waiter *waiter, int fd)
{
    waiter->watched_fd = fd;
}

void pawli_waiter_disarm(pawli_waiter *waiter)
{
    if (waiter->method->disarm)
        waiter->method->disarm(waiter);
    waiter->armed = false;
}

/* ---- waiting ---- */

static pawli_wait waiter_begin(pawli_waiter *waiter, pawl_mono deadline)
{
    pawli_wait wait = {.deadline = deadline, .stopped = pawli_wake_stopped(&waiter->db->wake)};

    waiter->method->begin(waiter, &wait);
    return wait;
}

/* Wake-ups from this process. */
static pawl_status clear_wake_fd(pawli_waiter *waiter, const pawli_wait *wait, pawli_woken *ret_why,
                                 bool *ret_woken, pawl_error *err)
{
    pawli_wake_counts counts =
        pawli_wake_clear(&waiter->db->wake, &waiter->wake_fd, wants_sends(waiter));

    if (counts.stopped != wait->stopped)
        return pawli_fail(err, PAWL_E_INTERRUPTED, "interrupted while waiting for messages");
    *ret_woken = true;
    if (atomic_exchange(&waiter->called, false))
        *ret_why = PAWLI_WOKEN_CALLED;
    else if (wants_sends(waiter) && counts.sent != waiter->sent)
        *ret_why = PAWLI_WOKEN_SENT;
    else
        *ret_woken = false;
    return PAWL_OK;
}

static bool watched_is_ready(const pawli_waiter *waiter)
{
    struct pollfd watched = {.fd = waiter->watched_fd, .events = POLLIN};

    return waiter->watched_fd >= 0 && poll(&watched, 1, 0) > 0;
}

static bool time_is_up(const pawli_waiter *waiter, const pawli_wait *wait, pawli_woken *ret_why)
{
    if (waiter->has_due && pawli_mono_passed(waiter->due))
        *ret_why = PAWLI_WOKEN_DUE;
    else if (pawli_mono_passed(wait->deadline))
        *ret_why = PAWLI_WOKEN_DEADLINE;
    else if (pawli_mono_passed(wait->max_until))
        *ret_why = PAWLI_WOKEN_POLL;
    else
        return false;
    return true;
}

static pawl_status waiter_check(pawli_waiter *waiter, pawli_wait *wait, pawli_woken *ret_why,
                                bool *ret_woken, pawl_error *err)
{
    pawl_status st = clear_wake_fd(waiter, wait, ret_why, ret_woken, err);

    if (st != PAWL_OK || *ret_woken)
        return st;
    st = waiter->method->check(waiter, wait, ret_why, ret_woken, err);
    if (st == PAWL_OK && !*ret_woken)
        *ret_woken = time_is_up(waiter, wait, ret_why);
    if (st == PAWL_OK && !*ret_woken && watched_is_ready(waiter)) {
        *ret_woken = true;
        *ret_why = PAWLI_WOKEN_CALLED;
    }
    return st;
}

static void waiter_keep_earlier(pawl_mono *time, pawl_mono other)
{
    if (other.us < time->us)
        *time = other;
}

static void waiter_sleep(const pawli_waiter *waiter, const pawli_wait *wait)
{
    bool quiet = !pawli_mono_passed(wait->quiet_until);
    bool listens = waiter->listener && waiter->listener->fd >= 0;
    struct pollfd fds[3] = {{.fd = waiter->wake_fd.fd, .events = POLLIN},
                            {.fd = listens && !quiet ? waiter->listener->fd : -1, .events = POLLIN},
                            {.fd = waiter->watched_fd, .events = POLLIN}};
    pawl_mono until = wait->max_until;

    waiter_keep_earlier(&until, wait->deadline);
    waiter_keep_earlier(&until, wait->next_poll);
    if (waiter->has_due)
        waiter_keep_earlier(&until, waiter->due);
    if (listens && quiet)
        waiter_keep_earlier(&until, wait->quiet_until);
    int64_t left_us = until.us - pawli_mono_now().us;
    if (left_us < 0)
        left_us = 0;
    struct timespec left = {.tv_sec = (time_t)(left_us / 1000000),
                            .tv_nsec = (long)(left_us % 1000000) * 1000};
    (void)ppoll(fds, 3, &left, NULL); /* whatever ended it, the caller checks everything */
}

pawl_status pawli_waiter_wait(pawli_waiter *waiter, pawl_mono deadline, pawli_woken *ret_why,
                              pawl_error *err)
{
    pawli_wait wait = waiter_begin(waiter, deadline);
    pawli_woken why = PAWLI_WOKEN_POLL;
    bool woken = !waiter->armed; /* not armed: claim first */
    pawl_status st = PAWL_OK;

    while (!woken) {
        st = waiter_check(waiter, &wait, &why, &woken, err);
        if (st != PAWL_OK)
            break;
        if (!woken)
            waiter_sleep(waiter, &wait);
    }
    pawli_waiter_disarm(waiter);
    if (st == PAWL_OK && ret_why)
        *ret_why = why;
    return st;
}
