/* tests/jobs/simulation_tick.c - a scheduler's look, and what was recorded compared with the model.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "failing.h"
#include "simulation.h"
#include "race_window.h"
#include "test.h"

#if PAWL_TEST_SQLITE
#include <sqlite3.h>
#endif

static void meanwhile(void *context)
{
    simulation_meanwhile(context);
}

/* ---- the history ---- */

typedef struct new_rows {
    pawl_runs *pages[8];
    size_t page_count;
    const pawl_run **list; /* oldest first */
    size_t count;
    size_t room;
} new_rows;

static void rows_done(new_rows *r)
{
    for (size_t i = 0; i < r->page_count; i++)
        pawl_runs_free(r->pages[i]);
    free(r->list);
}

static void add_row(new_rows *r, const pawl_run *run)
{
    if (r->count == r->room) {
        r->room = r->room ? r->room * 2 : 64;
        r->list = realloc(r->list, r->room * sizeof *r->list);
        if (!r->list)
            abort();
    }
    r->list[r->count++] = run;
}

/* Everything with a higher id than the last one seen that was not triggered. */
static void read_new_rows(simulation *p, new_rows *r)
{
    pawl_run_filter filter = PAWL_RUN_FILTER_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    int64_t newest = p->last_row;
    pawl_page next = PAWL_PAGE_INIT;
    bool more = true;

    filter.limit = 200;
    while (more && r->page_count < 8) {
        pawl_runs *page = NULL;
        if (pawl_run_list(fixture_store(p->f), NULL, &filter, &page, &next, &err) != PAWL_OK) {
            finding_say(&p->wrong, "the history cannot be read: %s", err.message);
            return;
        }
        r->pages[r->page_count++] = page;
        more = !PAWL_PAGE_IS_NONE(next);
        for (size_t i = 0; i < pawl_runs_count(page); i++) {
            const pawl_run *run = pawl_runs_at(page, i);
            if (run->id <= p->last_row) {
                more = false;
                break;
            }
            newest = run->id > newest ? run->id : newest;
            if (!run->triggered)
                add_row(r, run);
        }
        filter.after = next;
        filter.limit = 10000;
    }
    p->last_row = newest;
    for (size_t i = 0; i < r->count / 2; i++) {
        const pawl_run *swapped = r->list[i];
        r->list[i] = r->list[r->count - 1 - i];
        r->list[r->count - 1 - i] = swapped;
    }
}

static size_t rows_of(const new_rows *r, const model_job *job, const pawl_run **ret_rows)
{
    size_t count = 0;

    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->list[i]->job, job->name) == 0)
            ret_rows[count++] = r->list[i];
    return count;
}

/* ---- one look ---- */

typedef struct a_look {
    pawl_wall read;
    pawl_wall now; /* when it was written */
    int64_t versions[SIMULATION_JOBS];
    bool started[SIMULATION_JOBS];      /* the awaited run had started when the job was read */
    bool behind;                        /* the clock has shown more than it does now */
    pawl_wall planned[SIMULATION_JOBS]; /* if it has: when each job was planned */
    expectation o;
} a_look;

/* The clock of the look that planned the job; no call tells it. */
static pawl_wall planned_at(simulation *p, const model_job *job)
{
    return (pawl_wall){fixture_count(
        p->f,
        fixture_is_postgres(p->f)
            ? "SELECT extract(epoch FROM planned_at) * 1000000 FROM {job} WHERE id = %" PRId64
            : "SELECT planned_at FROM {job} WHERE id = %" PRId64,
        job->id)};
}

/* What it wrote is not always an entry of the history. */
static bool was_written(simulation *p, const a_look *l, const model_job *job)
{
    return planned_at(p, job).us == l->read.us;
}

/* After the clock was set back, before what the look made is compared. */
static void follow_clock(simulation *p, a_look *l, int which)
{
    model_job *job = &p->jobs[which];

    if (!l->behind || !was_written(p, l, job))
        return;
    if (model_is_ahead(job, l->planned[which], l->read)) {
        if (!fixture_is_postgres(p->f)) /* its clock is never below a time that is stored */
            finding_say(&p->wrong,
                        "%s: it was planned at %" PRId64 ", and the clock shows %" PRId64,
                        job->name, l->planned[which].us, l->read.us);
        model_rewind(job, l->read, l->now, &p->wrong);
        p->covered.rewound++;
    }
    if (l->started[which])
        model_heard(job, l->read);
}

/* Whether the first of those that were to start has started. */
static bool was_promoted(simulation *p, const expectation *o)
{
    pawl_runs *one = NULL;
    bool started = false;

    for (size_t i = 0; i < o->open.count; i++) {
        if (!o->open.list[i].promoted)
            continue;
        if (pawl_run_get(fixture_store(p->f), o->open.list[i].id, &one, NULL) != PAWL_OK)
            finding_say(&p->wrong, "run %" PRId64 " is gone", o->open.list[i].id);
        else
            started = pawl_runs_at(one, 0)->state != PAWL_RUN_WAITING;
        pawl_runs_free(one);
        break;
    }
    return started;
}

static void note_rows(simulation *p, const expectation *o, const pawl_run *const *rows)
{
    coverage *c = &p->covered;

    for (size_t i = 0; i < expectation_to_record(o); i++)
        c->waited += rows[i]->state == PAWL_RUN_WAITING;
    for (size_t i = 0; i < o->count; i++) {
        if (o->entries[i].was_there)
            continue;
        c->runs += o->entries[i].runs;
        c->misfires += o->entries[i].reason == PAWL_RUN_MISFIRE;
        c->overlaps += o->entries[i].reason == PAWL_RUN_OVERLAP;
        c->occurrences_skipped += o->entries[i].runs ? 0 : o->entries[i].occurrences;
    }
    c->promoted += (int64_t)o->promoted;
}

/* All that was to be done with the job, or nothing; nothing, if it was changed meanwhile. */
static void compare_look(simulation *p, a_look *l, int which, const pawl_run *const *rows,
                         size_t count)
{
    model_job *job = &p->jobs[which];

    if (!job->exists || job->version != l->versions[which]) {
        p->covered.overtaken++;
        if (count > 0)
            finding_say(&p->wrong,
                        "%s: a scheduler wrote occurrence %" PRId64 " though the job had changed",
                        job->name, rows[0]->scheduled_at.us);
        return;
    }
    follow_clock(p, l, which);
    for (size_t i = 0; job->forgets && i < count; i++)
        model_forget(job, rows[i]->scheduled_at); /* its entry was gone, or there was none */
    if (job->awaited && l->started[which] && was_written(p, l, job))
        job->awaited_is_known = true;
    expectation_make(job, l->read, l->now, &l->o);
    if (expectation_is_empty(&l->o) && count == 0)
        return;
    bool promoted = l->o.promoted > 0 && was_promoted(p, &l->o);
    bool all_were_there = l->o.count > 0 && expectation_to_record(&l->o) == 0;
    if (count == 0 && !promoted && !(all_were_there && was_written(p, l, job)))
        return;
    if (l->o.promoted > 0 && !promoted)
        finding_say(&p->wrong, "%s: occurrences were made, but who waits did not start", job->name);
    if (expectation_follow(&l->o, job, rows, count, &p->wrong))
        note_rows(p, &l->o, rows);
}

static void observe(simulation *p, a_look *l)
{
    new_rows r = {0};

    l->now = simulation_now(p);
    read_new_rows(p, &r);
    const pawl_run **of_job = calloc(r.count + 1, sizeof *of_job);
    if (!of_job)
        abort();
    size_t seen = 0;
    for (int i = 0; i < SIMULATION_JOBS && !p->wrong.found; i++) {
        size_t count = rows_of(&r, &p->jobs[i], of_job);
        seen += count;
        compare_look(p, l, i, of_job, count);
    }
    if (seen != r.count)
        finding_say(&p->wrong, "the history has rows of no job");
    free(of_job);
    rows_done(&r);
}

static void arm_failure(simulation *p)
{
    int nth = 1 + simulation_dice(p, 60);

#if PAWL_TEST_SQLITE
    if (!fixture_is_postgres(p->f)) {
        static const int codes[] = {SQLITE_IOERR, SQLITE_FULL, SQLITE_IOERR | FAILING_AFTERWARDS};
        failing_arm(FAILING_SQL, nth * 3, codes[simulation_dice(p, 3)]);
        return;
    }
#endif
    failing_arm(FAILING_SQL, 1 + nth % 6, simulation_dice(p, 3) ? FAILING_CUTS : FAILING_REFUSES);
}

/* The server may still be at work on what a cut connection brought. */
static void disarm_failure(simulation *p)
{
    int backend = failing_disarm() && fixture_is_postgres(p->f) ? failing_cut_backend() : 0;

    while (backend != 0 &&
           fixture_count(p->f, "SELECT count(*) FROM pg_stat_activity WHERE pid = %d", backend) > 0)
        continue;
}

static bool tick_scheduler(simulation *p, int scheduler, simulation_mode mode)
{
    pawl_job_tick_result result = PAWL_JOB_TICK_RESULT_INIT;
    pawl_error err = PAWL_ERROR_INIT;
    a_look *l = calloc(1, sizeof *l);

    if (!l)
        abort();
    l->read = simulation_now(p);
    for (int i = 0; i < SIMULATION_JOBS; i++) {
        l->versions[i] = p->jobs[i].version;
        l->started[i] = p->jobs[i].awaited != 0 && p->jobs[i].awaited_since.us != 0;
    }
    l->behind = p->latest.us > l->read.us;
    for (int i = 0; l->behind && i < SIMULATION_JOBS; i++)
        l->planned[i] = planned_at(p, &p->jobs[i]);
    p->inside[scheduler] = true;
    if (mode == SIMULATION_PAUSED)
        race_window_arm(meanwhile, p);
    else if (mode == SIMULATION_FAILING)
        arm_failure(p);
    pawl_status st = pawl_job_tick(p->schedulers[scheduler], &result, &err);
    if (mode == SIMULATION_FAILING)
        disarm_failure(p);
    if (mode == SIMULATION_PAUSED)
        (void)race_window_disarm();
    p->inside[scheduler] = false;
    p->covered.ticks++;
    p->covered.failed += st != PAWL_OK;
    p->covered.in_doubt += st == PAWL_E_IN_DOUBT;
    if (st != PAWL_OK && mode != SIMULATION_FAILING)
        finding_say(&p->wrong, "a tick failed: %s", err.message);
    observe(p, l);
    expectation_done(&l->o);
    free(l);
    return result.more;
}

void simulation_tick(simulation *p, int scheduler, simulation_mode mode)
{
    if (!p->wrong.found)
        (void)tick_scheduler(p, scheduler, mode);
}

/* ---- all of them ---- */

static void check_job(simulation *p, model_job *job)
{
    pawl_jobs *one = NULL;
    pawl_error err = PAWL_ERROR_INIT;
    pawl_wall after, next = PAWL_TIME_UNSET;

    if (pawl_job_get(fixture_store(p->f), job->name, &one, &err) != PAWL_OK) {
        finding_say(&p->wrong, "%s: %s", job->name, err.message);
        return;
    }
    const pawl_job *found = pawl_jobs_at(one, 0);
    if (model_base(job, &after))
        next = model_next(job, after);
    if (found->last_occurrence_at.us != job->last.us)
        finding_say(&p->wrong, "%s: the last occurrence is %" PRId64 ", not %" PRId64, job->name,
                    found->last_occurrence_at.us, job->last.us);
    else if (found->next_occurrence_at.us != next.us)
        finding_say(&p->wrong, "%s: the next occurrence is %" PRId64 ", not %" PRId64, job->name,
                    found->next_occurrence_at.us, next.us);
    else if (found->unfinished != (int)job->open.count)
        finding_say(&p->wrong, "%s: %d runs have not ended, not %zu", job->name, found->unfinished,
                    job->open.count);
    pawl_jobs_free(one);
}

void simulation_tick_all(simulation *p, int scheduler)
{
    expectation *o = calloc(1, sizeof *o);
    pawl_wall now = simulation_now(p);
    int turns = 0;

    if (!o)
        abort();
    while (!p->wrong.found && tick_scheduler(p, scheduler, SIMULATION_PLAIN))
        if (++turns > 1000)
            finding_say(&p->wrong, "the scheduler finds no end");
    for (int i = 0; i < SIMULATION_JOBS && !p->wrong.found; i++) {
        model_job *job = &p->jobs[i];
        if (!job->exists)
            continue;
        if (p->latest.us > now.us && model_is_ahead(job, planned_at(p, job), now))
            finding_say(&p->wrong, "%s: it does not come back, its last occurrence is %" PRId64,
                        job->name, job->last.us);
        expectation_make(job, now, now, o);
        if (o->count > 0 || (o->promoted > 0 && !job->lax_line))
            finding_say(&p->wrong,
                        "%s (%s, misfire %s, overlap %s, keeps %d): at %" PRId64
                        " %zu entries are missing, the first of occurrence %" PRId64
                        "; %zu should have started",
                        job->name, job->asked.schedule, pawl_misfire_name(job->asked.misfire),
                        pawl_overlap_name(job->asked.overlap), job->asked.keep_runs, now.us,
                        o->count, o->count ? o->entries[0].first.us : 0, o->promoted);
        else if (simulation_dice(p, 8) == 0)
            check_job(p, job);
    }
    expectation_done(o);
    free(o);
}
