/* tests/process/process_fixture.c - workers and senders as processes on one database, and what they
 * say. */
#include "process_fixture.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

/* Sent and not done. More than all workers together take at once, so that they never run dry. */
#define WINDOW 200
#define BATCH 5

static void end_processes(void *argument)
{
    processes *s = argument;

    for (int i = 0; i < PROCESSES_WORKERS; i++)
        child_end(&s->workers[i].process);
    for (int i = 0; i < PROCESSES_SENDERS; i++)
        child_end(&s->senders[i].process);
    free(s);
}

processes *processes_open(void)
{
    const fixture_options opts = {.real_clock = true};
    processes *s = calloc(1, sizeof *s);

    if (!s)
        abort();
    s->f = fixture_open(&opts);
    test_defer(end_processes, s); /* after the fixture's, so that it runs before it */
    for (int i = 0; i < PROCESSES_SENDERS; i++)
        s->senders[i].first = (long)i * PROCESSES_NUMBERS;
    fixture_exec(s->f, "CREATE TABLE {effect} (value bigint)"); /* no key: doubles shall show */
    s->table = fixture_expand(s->f, "{effect}");
    return s;
}

void processes_close(processes *s)
{
    fixture *f = s->f;

    test_defer_cancel(s);
    end_processes(s);
    fixture_close(f);
}

/* ---- starting ---- */

static void start_process(processes *s, child *c, const char *name, const char *argument,
                          const char *const *options)
{
    const pawl_store_options *opts = fixture_store_options(s->f);
    const char *arguments[11] = {fixture_url(s->f), opts->schema ? opts->schema : "",
                                 opts->table_prefix ? opts->table_prefix : "", argument};

    for (int i = 0; options && options[i] && i < 6; i++)
        arguments[4 + i] = options[i];
    child_start(c, name, arguments);
}

void processes_start_worker(processes *s, int which, const char *const *options)
{
    s->workers[which] = (worker_process){.blocked_number = -1};
    start_process(s, &s->workers[which].process, "work_helper", s->table, options);
}

void processes_start_sender(processes *s, int which, const char *broken)
{
    sender_process *sender = &s->senders[which];
    const char *options[] = {broken, NULL};

    sender->asked = sender->stored;
    start_process(s, &sender->process, "send_helper",
                  test_note("%ld", sender->first + sender->stored), options);
}

void processes_start_all(processes *s)
{
    for (int i = 0; i < 2; i++)
        processes_start_worker(s, i, NULL);
    for (int i = 0; i < PROCESSES_SENDERS; i++)
        processes_start_sender(s, i, NULL);
    processes_until(s, s->workers[0].done > 0 && s->workers[1].done > 0);
}

/* ---- listening ---- */

typedef struct hearing {
    processes *s;
    void *speaker;
} hearing;

/* Whether the line is `word` and `count` numbers. */
static bool is_line(const char *line, const char *word, int count, int64_t *ret_numbers)
{
    size_t size = strlen(word);

    if (strncmp(line, word, size) != 0)
        return false;
    line += size;
    for (int i = 0; i < count; i++) {
        char *end = NULL;

        ret_numbers[i] = *line == ' ' ? strtoll(line, &end, 10) : 0;
        if (!end || end == line)
            return false;
        line = end;
    }
    return *line == '\0';
}

static void hear_done(processes *s, worker_process *w, const int64_t number_from_to[3])
{
    w->done++;
    w->blocked_done |= number_from_to[0] == w->blocked_number;
    s->done++;
    if (s->marked_ms > 0 && s->first_ms == 0 && number_from_to[1] > s->marked_ms)
        s->first_ms = number_from_to[2] - s->marked_ms;
}

static void hear_worker(void *context, const char *line)
{
    worker_process *w = ((hearing *)context)->speaker;
    int64_t numbers[3];

    if (is_line(line, "done", 3, numbers)) {
        hear_done(((hearing *)context)->s, w, numbers);
    } else if (is_line(line, "lost", 1, numbers)) {
        w->lost++;
        w->blocked_lost |= numbers[0] == w->blocked_number;
    } else if (is_line(line, "blocked", 1, numbers)) {
        w->blocked_number = (long)numbers[0];
    } else if (strncmp(line, "again ", 6) == 0) {
        w->again++;
    } else if (strncmp(line, "owner ", 6) == 0) {
        w->ready = pawl_owner_parse(line + 6, &w->owner, NULL) == PAWL_OK;
    } else {
        test_fail("a worker says: %s", line);
    }
}

static void hear_sender(void *context, const char *line)
{
    sender_process *sender = ((hearing *)context)->speaker;
    int64_t next;

    if (is_line(line, "stored", 1, &next))
        sender->stored = (long)next - sender->first;
    else if (strcmp(line, "doubt") == 0)
        sender->doubts++;
    else if (strncmp(line, "refused ", 8) == 0)
        sender->refusals++;
    else
        test_fail("a sender says: %s", line);
}

static void give_orders(processes *s)
{
    long open = -s->done;

    for (int i = 0; i < PROCESSES_SENDERS; i++)
        open += s->senders[i].asked;
    for (int i = 0; open < WINDOW && !s->no_more_orders && i < 2 * WINDOW; i++) {
        sender_process *sender = &s->senders[i % PROCESSES_SENDERS];
        unsigned char count = i % 3 == 0 ? 1 : BATCH;

        if (sender->process.pid == 0 || sender->asked + BATCH > PROCESSES_NUMBERS)
            continue;
        child_write(&sender->process, count);
        sender->asked += count;
        open += count;
    }
}

static void listen_now(processes *s)
{
    for (int i = 0; i < PROCESSES_WORKERS; i++)
        child_listen(&s->workers[i].process, hear_worker, &(hearing){s, &s->workers[i]});
    for (int i = 0; i < PROCESSES_SENDERS; i++)
        child_listen(&s->senders[i].process, hear_sender, &(hearing){s, &s->senders[i]});
    give_orders(s);
}

void processes_listen(processes *s, int wait_ms)
{
    struct pollfd mouths[PROCESSES_WORKERS + PROCESSES_SENDERS];
    nfds_t count = 0;

    for (int i = 0; i < PROCESSES_WORKERS; i++)
        if (s->workers[i].process.out > 0)
            mouths[count++] = (struct pollfd){s->workers[i].process.out, POLLIN, 0};
    for (int i = 0; i < PROCESSES_SENDERS; i++)
        if (s->senders[i].process.out > 0)
            mouths[count++] = (struct pollfd){s->senders[i].process.out, POLLIN, 0};
    poll(mouths, count, wait_ms);
    listen_now(s);
}

void processes_listen_for(processes *s, int64_t ms)
{
    int64_t end_ms = test_clock_ms() + ms;

    for (int64_t left_ms = ms; left_ms > 0; left_ms = end_ms - test_clock_ms())
        processes_listen(s, (int)left_ms);
}

/* ---- mishaps, and recovery ---- */

void processes_mark(processes *s)
{
    listen_now(s);
    for (int i = 0; i < PROCESSES_SENDERS; i++)
        s->senders[i].marked = s->senders[i].stored;
    s->first_ms = 0;
    s->marked_ms = test_clock_ms();
}

static bool marked_are_done(processes *s)
{
    for (int i = 0; i < PROCESSES_SENDERS; i++) {
        const sender_process *sender = &s->senders[i];
        if (fixture_count(s->f,
                          "SELECT count(DISTINCT value) FROM {effect}"
                          " WHERE value >= %ld AND value < %ld",
                          sender->first, sender->first + sender->marked) < sender->marked)
            return false;
    }
    return true;
}

recovery processes_await_recovery(processes *s)
{
    processes_until(s, s->first_ms > 0);
    fixture_reconnect(s->f);
    processes_until_seen(s, marked_are_done(s));
    return (recovery){s->first_ms, test_clock_ms() - s->marked_ms};
}

/* Whether another connection can write soon. */
static bool can_write(processes *s)
{
    pawl_store_options opts = *fixture_store_options(s->f);
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;

    opts.timeout_ms = 200;
    assert_ok(pawl_store_open(fixture_url(s->f), &opts, &store, &err), &err);
    pawl_status st = pawl_queue_compact_stats(store, NULL, NULL, &err);
    pawl_store_close(store);
    return st == PAWL_OK;
}

void processes_stop_worker(processes *s, int which)
{
    child *c = &s->workers[which].process;
    int64_t end_ms = test_clock_ms() + PROCESSES_PATIENCE_MS;

    while (true) {
        child_signal(c, SIGSTOP);
        child_await_stopped(c);
        if (fixture_is_postgres(s->f) || can_write(s))
            return;
        child_signal(c, SIGCONT);
        if (test_clock_ms() > end_ms)
            test_fail("the worker writes all the time");
        processes_listen(s, 100);
    }
}

bool processes_has_row(processes *s, long number)
{
    return fixture_count(s->f, "SELECT count(*) FROM {effect} WHERE value = %ld", number) > 0;
}

static void kill_now(processes *s, child *c)
{
    child_signal(c, SIGKILL);
    assert_int_equal(c->pid, waitpid(c->pid, NULL, 0));
    c->pid = 0;
    listen_now(s);
    child_end(c);
}

void processes_kill_worker(processes *s, int which)
{
    kill_now(s, &s->workers[which].process);
}

void processes_kill_sender(processes *s, int which)
{
    kill_now(s, &s->senders[which].process);
}

void processes_await_end(processes *s, child *c, const char *what)
{
    int status = 0;

    processes_until(s, child_ended(c, &status));
    listen_now(s);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        test_fail("%s ended with wait status %d", what, status);
}

void processes_finish(processes *s)
{
    s->no_more_orders = true;
    for (int i = 0; i < PROCESSES_SENDERS; i++)
        child_close_input(&s->senders[i].process);
    for (int i = 0; i < PROCESSES_SENDERS; i++)
        if (s->senders[i].process.pid > 0)
            processes_await_end(s, &s->senders[i].process, "a sender");
    processes_until_seen(s, fixture_count(s->f, "SELECT count(*) FROM {queue}") == 0);
    for (int i = 0; i < PROCESSES_WORKERS; i++)
        if (s->workers[i].process.pid > 0)
            child_signal(&s->workers[i].process, SIGTERM);
    for (int i = 0; i < PROCESSES_WORKERS; i++)
        if (s->workers[i].process.pid > 0)
            processes_await_end(s, &s->workers[i].process, "a worker");
}

int64_t processes_leased_by(processes *s, int which)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_messages *list = NULL;

    assert_true(s->workers[which].ready);
    assert_ok(pawl_queue_owned(fixture_store(s->f), s->workers[which].owner, &list, &err), &err);
    int64_t count = (int64_t)pawl_messages_count(list);
    pawl_messages_free(list);
    return count;
}

const char *processes_check_nothing_leased(processes *s)
{
    int64_t leased = fixture_count(s->f, "SELECT count(*) FROM {queue} WHERE fence > 0");

    return leased == 0 ? NULL : test_note("leased: %lld messages", (long long)leased);
}

long processes_stored(const processes *s)
{
    long stored = 0;

    for (int i = 0; i < PROCESSES_SENDERS; i++)
        stored += s->senders[i].stored;
    return stored;
}

/* ---- the audit ---- */

/* NULL, or that a sender's number is not in the application's table. */
static const char *find_missing(processes *s, const sender_process *sender)
{
    int64_t there = fixture_count(s->f,
                                  "SELECT count(DISTINCT value) FROM {effect}"
                                  " WHERE value >= %ld AND value < %ld",
                                  sender->first, sender->first + sender->stored);

    if (there == sender->stored)
        return NULL;
    return test_note("lost: of %ld numbers that were stored, %lld have their row", sender->stored,
                     (long long)there);
}

static const char *find_double(processes *s)
{
    const char *value = fixture_text(s->f, "SELECT value FROM {effect} GROUP BY value"
                                           " HAVING count(*) > 1 ORDER BY value LIMIT 1");

    if (!value)
        return NULL;
    return test_note(
        "doubled: the row of number %s is there %lld times", value,
        (long long)fixture_count(s->f, "SELECT count(*) FROM {effect} WHERE value = %s", value));
}

const char *processes_audit(processes *s)
{
    const char *wrong = find_double(s);
    long stored = processes_stored(s);

    for (int i = 0; !wrong && i < PROCESSES_SENDERS; i++)
        wrong = find_missing(s, &s->senders[i]);
    if (wrong)
        return wrong;
    int64_t rows = fixture_count(s->f, "SELECT count(*) FROM {effect}");
    int64_t messages = fixture_count(s->f, "SELECT count(*) FROM {message}");
    int64_t done = fixture_count(s->f, "SELECT count(*) FROM {message} WHERE state = %d",
                                 (int)PAWL_STATE_DONE);
    if (rows != stored || messages != stored || done != stored)
        return test_note("%ld numbers were stored: there are %lld messages, %lld done, %lld rows",
                         stored, (long long)messages, (long long)done, (long long)rows);
    wrong = processes_check_nothing_leased(s);
    return wrong ? wrong : queue_check_note(s->f);
}
