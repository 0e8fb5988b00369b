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
/* Polling starts at FIRST_POLL_US and doubles. When a write is in progress, it starts at
 * WRITE_POLL_US and grows by half, so that a commit is noticed at most a third later than it is
 * durable. */
#define FIRST_POLL_US INT64_C(50000)
#define WRITE_POLL_US INT64_C(250)
/* Limits how often a waiter reacts to commits that have no messages for it. */
#define FIRST_QUIET_US INT64_C(1000)
#define LONGEST_QUIET_US INT64_C(50000)

/* The state of one wait. */
typedef struct waiting {
    pawl_mono deadline;
    pawl_mono max_until;   /* the maximum duration of the wait has passed */
    int64_t poll_us;       /* the current poll interval */
    pawl_mono next_poll;   /* the next poll for a commit */
    pawl_mono quiet_until; /* the listener's descriptor is ignored until then */
    int64_t quiet_us;      /* the last such pause */
    uint64_t stopped;      /* the wake's interrupt counter when the wait began */
} waiting;

pawl_status pawli_waiter_new(pawli_db *db, const pawli_waiter_options *opts,
                             pawli_waiter **ret_waiter, pawl_error *err)
{
    pawli_waiter *waiter = calloc(1, sizeof *waiter);

    if (!waiter)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a waiting worker");
    waiter->db = db;
    waiter->driver = db->settings.driver;
    waiter->options = opts ? *opts : (pawli_waiter_options)PAWLI_WAITER_OPTIONS_INIT;
    pawli_uuid_new(waiter->id);
    pawli_uuid_format(waiter->id, waiter->token);
    atomic_init(&waiter->called, false);
    waiter->watched_fd = -1;
    waiter->reopen_at = pawli_mono_now();
    waiter->idle_worker.erased.us = INT64_MIN / 2;
    if (!pawli_wake_register(&db->wake, &waiter->wake_fd)) {
        free(waiter);
        return pawli_fail(err, PAWL_E_NOMEM, "out of descriptors for a waiting worker");
    }
    *ret_waiter = waiter;
    return PAWL_OK;
}

void pawli_waiter_free(pawli_waiter *waiter)
{
    if (!waiter)
        return;
    pawli_idle_worker_unregister(waiter);
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
    return !waiter->driver->registers_idle_workers || !waiter->listener ||
           !waiter->idle_worker.written;
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
static pawl_status query_next_due(pawli_waiter *waiter, pawl_error *err)
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
    pawli_commit_events events;
    pawl_status st = PAWL_OK;

    waiter->armed = false;
    if (waiter->driver->registers_idle_workers) {
        st = pawli_idle_worker_arm(waiter, err);
    } else {
        pawli_waiter_open_listener(waiter);
        pawli_waiter_read_events(waiter, &events);
    }
    if (st != PAWL_OK)
        return st;
    waiter->sent = pawli_wake_clear(&waiter->db->wake, &waiter->wake_fd, wants_sends(waiter)).sent;
    st = query_next_due(waiter, err);
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
    pawli_idle_worker_busy(waiter);
    waiter->armed = false;
}

/* ---- waiting ---- */

static void postpone_poll(const pawli_waiter *waiter, waiting *run, int64_t us)
{
    run->poll_us = us < waiter->options.poll_us ? us : waiter->options.poll_us;
    run->next_poll = pawli_mono_after(pawli_mono_now(), run->poll_us);
}

static waiting waiter_begin(pawli_waiter *waiter, pawl_mono deadline)
{
    bool registers = waiter->driver->registers_idle_workers;
    int64_t max_wait_us =
        registers ? pawli_idle_worker_max_wait_us(waiter) : waiter->options.max_wait_us;
    waiting run = {.deadline = deadline, .stopped = pawli_wake_stopped(&waiter->db->wake)};

    run.max_until = pawli_mono_after(pawli_mono_now(), max_wait_us);
    postpone_poll(waiter, &run, FIRST_POLL_US);
    if (registers)
        run.next_poll.us = INT64_MAX;
    return run;
}

/* Checks whether a commit has made messages claimable. */
static pawl_status poll_for_commit(pawli_waiter *waiter, waiting *run, pawli_woken *ret_why,
                                   bool *ret_woken, pawl_error *err)
{
    bool time = pawli_mono_passed(run->next_poll);
    pawli_commit_events events;
    pawl_status st;

    pawli_waiter_read_events(waiter, &events);
    if (events.commit || (!waiter->listener && time)) {
        st = query_next_due(waiter, err);
        if (st != PAWL_OK)
            return st;
        *ret_why = PAWLI_WOKEN_SENT;
        *ret_woken = waiter->has_due && pawli_mono_passed(waiter->due);
        run->quiet_us = run->quiet_us * 2 < FIRST_QUIET_US ? FIRST_QUIET_US : run->quiet_us * 2;
        if (run->quiet_us > LONGEST_QUIET_US)
            run->quiet_us = LONGEST_QUIET_US;
        run->quiet_until = pawli_mono_after(pawli_mono_now(), run->quiet_us);
        postpone_poll(waiter, run, FIRST_POLL_US);
    } else if (events.writing && run->poll_us >= FIRST_POLL_US) {
        postpone_poll(waiter, run, WRITE_POLL_US);
        run->quiet_until = run->next_poll;
    } else if (time) {
        bool writing = run->poll_us < FIRST_POLL_US;
        postpone_poll(waiter, run, writing ? run->poll_us * 3 / 2 : run->poll_us * 2);
        if (run->poll_us < FIRST_POLL_US)
            run->quiet_until = run->next_poll;
    }
    return PAWL_OK;
}

static void read_notification(pawli_waiter *waiter, pawli_woken *ret_why, bool *ret_woken)
{
    bool had_listener = waiter->listener != NULL;
    pawli_commit_events events;

    pawli_waiter_read_events(waiter, &events);
    *ret_why = events.commit ? PAWLI_WOKEN_SENT : PAWLI_WOKEN_POLL;
    *ret_woken = events.commit || (had_listener && !waiter->listener) ||
                 (events.echo && pawli_idle_worker_echo(waiter));
}

/* Wake-ups from this process. */
static pawl_status clear_wake_fd(pawli_waiter *waiter, const waiting *run, pawli_woken *ret_why,
                                 bool *ret_woken, pawl_error *err)
{
    pawli_wake_counts counts =
        pawli_wake_clear(&waiter->db->wake, &waiter->wake_fd, wants_sends(waiter));

    if (counts.stopped != run->stopped)
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

static bool time_is_up(const pawli_waiter *waiter, const waiting *run, pawli_woken *ret_why)
{
    if (waiter->has_due && pawli_mono_passed(waiter->due))
        *ret_why = PAWLI_WOKEN_DUE;
    else if (pawli_mono_passed(run->deadline))
        *ret_why = PAWLI_WOKEN_DEADLINE;
    else if (pawli_mono_passed(run->max_until))
        *ret_why = PAWLI_WOKEN_POLL;
    else
        return false;
    return true;
}

static pawl_status waiter_check(pawli_waiter *waiter, waiting *run, pawli_woken *ret_why,
                                bool *ret_woken, pawl_error *err)
{
    pawl_status st = clear_wake_fd(waiter, run, ret_why, ret_woken, err);

    if (st != PAWL_OK || *ret_woken)
        return st;
    if (waiter->driver->registers_idle_workers)
        read_notification(waiter, ret_why, ret_woken);
    else
        st = poll_for_commit(waiter, run, ret_why, ret_woken, err);
    if (st == PAWL_OK && !*ret_woken)
        *ret_woken = time_is_up(waiter, run, ret_why);
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

static void waiter_sleep(const pawli_waiter *waiter, const waiting *run)
{
    bool quiet = !pawli_mono_passed(run->quiet_until);
    bool listens = waiter->listener && waiter->listener->fd >= 0;
    struct pollfd fds[3] = {{.fd = waiter->wake_fd.fd, .events = POLLIN},
                            {.fd = listens && !quiet ? waiter->listener->fd : -1, .events = POLLIN},
                            {.fd = waiter->watched_fd, .events = POLLIN}};
    pawl_mono until = run->max_until;

    waiter_keep_earlier(&until, run->deadline);
    waiter_keep_earlier(&until, run->next_poll);
    if (waiter->has_due)
        waiter_keep_earlier(&until, waiter->due);
    if (listens && quiet)
        waiter_keep_earlier(&until, run->quiet_until);
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
    waiting run = waiter_begin(waiter, deadline);
    pawli_woken why = PAWLI_WOKEN_POLL;
    bool woken = !waiter->armed; /* not armed: claim first */
    pawl_status st = PAWL_OK;

    while (!woken) {
        st = waiter_check(waiter, &run, &why, &woken, err);
        if (st != PAWL_OK)
            break;
        if (!woken)
            waiter_sleep(waiter, &run);
    }
    pawli_waiter_disarm(waiter);
    if (st == PAWL_OK && ret_why)
        *ret_why = why;
    return st;
}
