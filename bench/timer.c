/*
 * bench/timer.c - how long single calls take while many timers are pending.
 *
 * Not a rate beside the raw engine but the time of each call, because the bars are times: 99 of
 * 100 calls must be as quick.
 */
#include "timer.h"

#include <pthread.h>
#include <stdlib.h>

#include "basics.h"

#define CALLS 2000
#define CALLS_SHORT 20
#define FOUND 100       /* by a claim that finds something */
#define FOUND_CALLS 100 /* of those, since each needs a filling */
#define STARTS 40       /* timers that a worker waits for */
#define FIRST_START_MS 500
#define STARTS_APART_MS 25

static void timer_nothing(database *db)
{
    (void)db;
}

static const engine memory_engine = {.name = "memory",
                                     .reset = timer_nothing,
                                     .clear_ready = timer_nothing,
                                     .tidy = timer_nothing,
                                     .drop = timer_nothing};
const engine *const engine_memory = &memory_engine;

static void timer_expect(pawl_status status, const pawl_error *err)
{
    if (status != PAWL_OK)
        die("pawl: %s: %s", pawl_status_name(status), err->message);
}

int64_t timer_pending(const row *r, const options *opts)
{
    int64_t pending = opts->ballast / r->pending_part;

    return pending > 0 ? pending : 1;
}

static pawl_message_spec message_for(int64_t delay_ms)
{
    pawl_message_spec message = PAWL_MESSAGE_SPEC_INIT;

    message.topic = topic_name(0);
    message.payload = bench_payload;
    message.payload_size = bench_payload_size;
    message.delay_ms = delay_ms;
    return message;
}

/* Spread over a day, a day from now: some among those that are pending, some behind them. */
static int64_t delay_of(int64_t number)
{
    return INT64_C(86400000) + number * 7919 % INT64_C(86400000);
}

static int timer_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of `count` times in milliseconds. */
static void summarize(row *r, double *times, int count)
{
    qsort(times, (size_t)count, sizeof *times, timer_compare);
    r->p50_ms = times[count / 2];
    r->p99_ms = times[(count * 99 - 1) / 100];
    r->max_ms = times[count - 1];
}

/* ---- schedule ---- */

static void measure_schedule(row *r, pawl_scheduler *scheduler, const options *opts)
{
    int count = opts->is_short ? CALLS_SHORT : CALLS;
    double *times = allocate((size_t)count, sizeof *times);

    for (int i = 0; i < count; i++) {
        pawl_error err = PAWL_ERROR_INIT;
        pawl_message_spec message = message_for(delay_of(i));
        double began = seconds_now();

        timer_expect(pawl_timer_schedule(scheduler, &message, NULL, &err), &err);
        times[i] = (seconds_now() - began) * 1000;
    }
    summarize(r, times, count);
    free(times);
}

static void schedule_in_memory(row *r, const options *opts)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_scheduler *scheduler = NULL;
    int64_t pending = timer_pending(r, opts);

    timer_expect(pawl_scheduler_new_in_memory(NULL, &scheduler, &err), &err);
    for (int64_t i = 0; i < pending; i++) {
        pawl_message_spec message = message_for(delay_of(i));

        timer_expect(pawl_timer_schedule(scheduler, &message, NULL, &err), &err);
    }
    measure_schedule(r, scheduler, opts);
    pawl_scheduler_free(scheduler);
}

/* ---- claim ---- */

static double claim_and_ack(pawl_store *store, pawl_owner owner, size_t expected)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_receipt held[FOUND];
    pawl_messages *list = NULL;
    double began = seconds_now(), ended;

    timer_expect(pawl_queue_claim(store, owner, LEASE_MS, FOUND, NULL, &list, &err), &err);
    ended = seconds_now();
    if (pawl_messages_count(list) != expected)
        die("a claim found %zu messages instead of %zu", pawl_messages_count(list), expected);
    for (size_t i = 0; i < expected; i++) {
        const pawl_message *message = pawl_messages_at(list, i);

        held[i] = (pawl_receipt){pawl_message_work_id(message), pawl_message_fence(message)};
    }
    timer_expect(pawl_queue_ack(store, owner, held, expected, NULL, &err), &err);
    pawl_messages_free(list);
    return (ended - began) * 1000;
}

static void measure_claim(row *r, database *db, pawl_store *store, const options *opts)
{
    size_t found = r->timer == TIMER_CLAIM_FOUND ? FOUND : 0;
    int count = opts->is_short ? CALLS_SHORT : found ? FOUND_CALLS : CALLS;
    double *times = allocate((size_t)count, sizeof *times);
    pawl_owner owner = pawl_owner_new();

    for (int i = 0; i < count; i++) {
        if (found) {
            db->engine->fill(db, FOUND);
            db->ready -= FOUND;
        }
        times[i] = claim_and_ack(store, owner, found);
    }
    summarize(r, times, count);
    free(times);
}

/* ---- from the due time to the handler ---- */

typedef struct starts {
    pthread_mutex_t lock;
    pthread_cond_t all_came;
    int wanted, came;
    double times[STARTS];
} starts;

static pawl_result note_start(pawl_task *task, void *context)
{
    starts *s = context;
    pawl_wall due = pawl_message_due_at(pawl_task_message(task));
    double late_ms = (double)(wall_us_now() - due.us) / 1000;

    pthread_mutex_lock(&s->lock);
    if (s->came < s->wanted)
        s->times[s->came] = late_ms;
    s->came++;
    pthread_cond_signal(&s->all_came);
    pthread_mutex_unlock(&s->lock);
    return PAWL_DONE;
}

static void *run_worker(void *context)
{
    pawl_error err = PAWL_ERROR_INIT;

    timer_expect(pawl_worker_run(context, &err), &err);
    return NULL;
}

static void schedule_starts(pawl_store *store, int count)
{
    pawl_message_spec messages[STARTS];
    pawl_error err = PAWL_ERROR_INIT;

    for (int i = 0; i < count; i++)
        messages[i] = message_for(FIRST_START_MS + i * STARTS_APART_MS);
    timer_expect(pawl_outbox_enqueue_batch(store, messages, (size_t)count, NULL, &err), &err);
}

static void measure_start(row *r, pawl_store *store, const options *opts)
{
    starts s = {.lock = PTHREAD_MUTEX_INITIALIZER,
                .all_came = PTHREAD_COND_INITIALIZER,
                .wanted = opts->is_short ? 3 : STARTS};
    pawl_error err = PAWL_ERROR_INIT;
    pawl_worker *worker = NULL;
    pthread_t thread;

    timer_expect(pawl_worker_new(store, NULL, &worker, &err), &err);
    timer_expect(pawl_worker_handle(worker, topic_name(0), note_start, &s, NULL, &err), &err);
    if (pthread_create(&thread, NULL, run_worker, worker) != 0)
        die("no thread for the worker");
    schedule_starts(store, s.wanted);
    pthread_mutex_lock(&s.lock);
    while (s.came < s.wanted)
        pthread_cond_wait(&s.all_came, &s.lock);
    pthread_mutex_unlock(&s.lock);
    pawl_worker_request_stop(worker);
    pthread_join(thread, NULL);
    pawl_worker_free(worker);
    summarize(r, s.times, s.wanted);
}

/* ---- all of them ---- */

/* The database of the ballast rows has a million pending anyway; fewer are put into another. */
static database *prepare(const row *r, grounds *g, const options *opts)
{
    database *db = r->pending_part == 1 ? &g->ballast : &g->pawl;

    if (r->pending_part == 1) {
        grounds_load_ballast(g, opts);
        db->engine->clear_ready(db);
    } else {
        db->topics = 1;
        db->engine->reset(db);
        db->engine->add_ballast(db, 0, timer_pending(r, opts));
    }
    db->engine->tidy(db);
    return db;
}

void timer_measure(row *r, grounds *g, const options *opts)
{
    pawl_error err = PAWL_ERROR_INIT;
    pawl_scheduler *scheduler = NULL;
    pawl_store *store = NULL;

    if (g->pawl.engine == engine_memory) {
        schedule_in_memory(r, opts);
        return;
    }
    database *db = prepare(r, g, opts);
    pawl_store_options how = database_options(db, 4);
    timer_expect(pawl_store_open(db->url, &how, &store, &err), &err);
    timer_expect(pawl_scheduler_new_on_store(store, &scheduler, &err), &err);
    if (r->timer == TIMER_SCHEDULE)
        measure_schedule(r, scheduler, opts);
    else if (r->timer == TIMER_START)
        measure_start(r, store, opts);
    else
        measure_claim(r, db, store, opts);
    pawl_scheduler_free(scheduler);
    pawl_store_close(store);
}
