/*
 * bench/job.c - how long a scheduler's look takes, with ten jobs due among few and among many.
 *
 * pawl and the look by hand take turns, call by call; the ratio is the median of those of
 * neighbouring calls. Jobs are made due by SQL between the calls, in the same way for both.
 */
#include "job.h"

#include <stdlib.h>

#include "basics.h"

#define CALLS 300
#define CALLS_SHORT 5
#define MANY 100000
#define MANY_SHORT 1000

typedef struct times {
    double *pawl, *raw, *ratio;
} times;

int64_t job_count(const row *r, const options *opts)
{
    if (!r->many_jobs)
        return JOB_DUE;
    return opts->is_short ? MANY_SHORT : MANY;
}

static double look_by_pawl(pawl_store *store)
{
    pawl_job_tick_result result = PAWL_JOB_TICK_RESULT_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    double began = seconds_now();

    if (pawl_job_tick(store, &result, &err) != PAWL_OK)
        die("pawl: %s", err.message);
    double took_ms = (seconds_now() - began) * 1000;
    if (result.runs != JOB_DUE)
        die("a look made %lld runs instead of %d", (long long)result.runs, JOB_DUE);
    return took_ms;
}

static double look_by_hand(const job_hands *how, void *hands)
{
    double began = seconds_now();

    how->look(hands);
    return (seconds_now() - began) * 1000;
}

static int job_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void summarize(row *r, times *t, int count)
{
    size_t size = sizeof(double), many = (size_t)count;

    qsort(t->pawl, many, size, job_compare);
    qsort(t->raw, many, size, job_compare);
    qsort(t->ratio, many, size, job_compare);
    r->p50_ms = t->pawl[count / 2];
    r->p99_ms = t->pawl[(count * 99 - 1) / 100];
    r->max_ms = t->pawl[count - 1];
    r->raw_p50_ms = t->raw[count / 2];
    r->raw_p99_ms = t->raw[(count * 99 - 1) / 100];
    r->pawl_rate = 1000 / r->p50_ms;
    r->raw_rate = 1000 / r->raw_p50_ms;
    r->pawl_paired = t->ratio[count / 2];
}

/* Ten in another place each time. */
static int64_t some_jobs(int64_t jobs, int call)
{
    return 1 + (int64_t)call * 7919 % (jobs / JOB_DUE) * JOB_DUE;
}

static void prepare(const job_hands *how, database *db, int64_t jobs, void **ret_hands)
{
    db->topics = 1;
    db->engine->reset(db);
    *ret_hands = how->open(db);
    how->add(*ret_hands, jobs);
    db->engine->tidy(db);
}

static void take_turns_looking(pawl_store *store, const job_hands *how, void *const hands[2],
                               int64_t jobs, int count, times *t)
{
    int64_t occurrence =
        wall_us_now() - 1000000; /* a job's occurrences only grow, and none is late */

    for (int i = -1; i < count; i++) { /* the first does not count */
        int64_t first = some_jobs(jobs, i + 1);
        double pawl_ms = 0, raw_ms = 0;

        for (int turn = 0; turn < 2; turn++) {
            int which = (i + turn) & 1;
            how->make_due(hands[which], first, ++occurrence);
            if (which == 0)
                pawl_ms = look_by_pawl(store);
            else
                raw_ms = look_by_hand(how, hands[1]);
        }
        if (i < 0)
            continue;
        t->pawl[i] = pawl_ms;
        t->raw[i] = raw_ms;
        t->ratio[i] = raw_ms / pawl_ms;
    }
}

void job_measure(row *r, grounds *g, const options *opts)
{
    const job_hands *how = g->pawl.engine->jobs;
    int64_t jobs = job_count(r, opts);
    int count = opts->is_short ? CALLS_SHORT : CALLS;
    size_t many = (size_t)count;
    times t = {allocate(many, sizeof(double)), allocate(many, sizeof(double)),
               allocate(many, sizeof(double))};
    pawl_error err = PAWL_ERROR_INIT;
    pawl_store *store = NULL;
    void *hands[2];

    prepare(how, &g->pawl, jobs, &hands[0]);
    prepare(how, &g->raw, jobs, &hands[1]);
    pawl_store_options open_how = database_options(&g->pawl, 1);
    if (pawl_store_open(g->pawl.url, &open_how, &store, &err) != PAWL_OK)
        die("pawl: %s", err.message);
    take_turns_looking(store, how, hands, jobs, count, &t);
    summarize(r, &t, count);
    pawl_store_close(store);
    how->close(hands[0]);
    how->close(hands[1]);
    free(t.pawl);
    free(t.raw);
    free(t.ratio);
}
