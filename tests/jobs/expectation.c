/* tests/jobs/expectation.c - misfires and overlaps by lists: the rules of pawl/job.h, taken
 * literally.
 */
#include "expectation.h"

#include <inttypes.h>
#include <stdlib.h>

/* How many occurrences in time one look makes, and how far a skip counts. */
#define IN_TIME 100

typedef struct pending {
    pawl_wall *occurrences;
    size_t count;
    size_t room;
} pending;

static void add_occurrence(pending *p, pawl_wall occurrence)
{
    if (p->count == p->room) {
        p->room = p->room ? p->room * 2 : 64;
        pawl_wall *occurrences = calloc(p->room, sizeof *occurrences);
        if (!occurrences)
            abort();
        for (size_t i = 0; i < p->count; i++)
            occurrences[i] = p->occurrences[i];
        free(p->occurrences);
        p->occurrences = occurrences;
    }
    p->occurrences[p->count++] = occurrence;
}

static void find_pending(const model_job *job, pawl_wall read, pending *p)
{
    pawl_wall occurrence;

    if (!model_base(job, &occurrence))
        return;
    while ((occurrence = model_next(job, occurrence)).us != 0 &&
           model_due(job, occurrence).us <= read.us) {
        add_occurrence(p, occurrence);
        if (job->from_start)
            return;
    }
}

/* ---- runs and skips ---- */

static void start_first(const model_job *job, expectation *o)
{
    model_run *first = NULL;
    size_t messages = o->open.count - model_runs_waiting(&o->open);

    if (job->asked.overlap != PAWL_OVERLAP_ALLOW && messages > 0)
        return;
    for (size_t i = 0; i < o->open.count && !first; i++)
        if (o->open.list[i].waits)
            first = &o->open.list[i];
    if (!first)
        return;
    first->waits = false;
    first->promoted = first->id != 0;
    o->promoted += first->promoted;
}

static expectation_entry *add_entry(expectation *o, pawl_wall first, pawl_wall last,
                                    int64_t occurrences)
{
    expectation_entry *entry = &o->entries[o->count++];

    *entry = (expectation_entry){.first = first, .last = last, .occurrences = occurrences};
    o->last = last;
    return entry;
}

static void misfire(const model_job *job, expectation *o, const pending *p, size_t count)
{
    expectation_entry *entry;

    if (count == 0)
        return;
    entry = add_entry(o, p->occurrences[0], p->occurrences[count - 1],
                      count > PAWL_RUN_OCCURRENCES_MAX ? PAWL_RUN_OCCURRENCES_MAX : (int64_t)count);
    entry->reason = PAWL_RUN_MISFIRE;
    entry->was_there = model_has(job, p->occurrences[0]);
}

static void expect_occurrence(const model_job *job, expectation *o, pawl_wall occurrence,
                              bool in_line)
{
    expectation_entry *entry = add_entry(o, occurrence, occurrence, 1);

    entry->runs = job->asked.overlap == PAWL_OVERLAP_ALLOW || o->open.count == 0 || in_line ||
                  (job->asked.overlap == PAWL_OVERLAP_QUEUE && model_runs_waiting(&o->open) == 0);
    entry->was_there = model_has(job, occurrence);
    if (entry->was_there)
        entry->runs = false;
    else if (entry->runs)
        model_runs_add(&o->open, (model_run){.waits = true});
    else
        entry->reason = PAWL_RUN_OVERLAP;
    start_first(job, o);
}

static void place_from(const model_job *job, expectation *o, const pending *p, size_t from,
                       size_t at_most, bool in_line)
{
    for (size_t i = from; i < p->count && i < from + at_most; i++)
        expect_occurrence(job, o, p->occurrences[i], in_line);
}

static bool is_late(const model_job *job, pawl_wall occurrence, pawl_wall read)
{
    return read.us - model_due(job, occurrence).us > job->asked.misfire_grace_ms * 1000;
}

static void expect_due(const model_job *job, expectation *o, const pending *p, pawl_wall read)
{
    size_t cap, late = 0;

    if (!is_late(job, p->occurrences[0], read)) {
        place_from(job, o, p, 0, IN_TIME, false);
        return;
    }
    switch (job->asked.misfire) {
    case PAWL_MISFIRE_SKIP:
        while (late < p->count && is_late(job, p->occurrences[late], read))
            late++;
        misfire(job, o, p, late);
        place_from(job, o, p, late, IN_TIME, false);
        break;
    default:
        cap = job->asked.misfire == PAWL_MISFIRE_ALL ? (size_t)job->asked.misfire_cap : 1;
        late = p->count > cap ? p->count - cap : 0;
        misfire(job, o, p, late);
        place_from(job, o, p, late, cap, job->asked.misfire == PAWL_MISFIRE_ALL);
        break;
    }
}

static void take_from_start(const model_job *job, expectation *o, const pending *p, pawl_wall read,
                            pawl_wall now)
{
    if (job->asked.misfire == PAWL_MISFIRE_SKIP && is_late(job, p->occurrences[0], read)) {
        misfire(job, o, p, 1);
        o->since = read;
        return;
    }
    expect_occurrence(job, o, p->occurrences[0], false);
    o->awaits = o->entries[0].runs;
    if (!o->awaits)
        o->since = now;
}

void expectation_make(const model_job *job, pawl_wall read, pawl_wall now, expectation *o)
{
    pending p = {0};

    o->count = o->promoted = o->open.count = 0;
    o->awaits = false;
    o->last = job->last;
    o->since = job->awaited ? job->awaited_since : job->since;
    for (size_t i = 0; i < job->open.count; i++) {
        model_runs_add(&o->open, job->open.list[i]);
        o->open.list[i].promoted = false;
    }
    if (model_runs_waiting(&o->open) > 0)
        start_first(job, o);
    find_pending(job, read, &p);
    if (p.count > 0 && job->from_start)
        take_from_start(job, o, &p, read, now);
    else if (p.count > 0)
        expect_due(job, o, &p, read);
    free(p.occurrences);
}

bool expectation_is_empty(const expectation *o)
{
    return o->count == 0 && o->promoted == 0;
}

void expectation_done(expectation *o)
{
    free(o->open.list);
    o->open = (model_runs){0};
}

/* ---- comparing ---- */

size_t expectation_to_record(const expectation *o)
{
    size_t count = 0;

    for (size_t i = 0; i < o->count; i++)
        count += !o->entries[i].was_there;
    return count;
}

static bool is_same_entry(const expectation_entry *entry, const pawl_run *row)
{
    return entry->first.us == row->scheduled_at.us &&
           entry->last.us == row->last_occurrence_at.us && entry->occurrences == row->occurrences &&
           entry->runs == (row->state != PAWL_RUN_SKIPPED) &&
           (entry->runs || entry->reason == row->reason);
}

/* The occurrences that an entry stands for, one by one. */
static void record(model_job *job, const expectation_entry *entry)
{
    if (!entry->was_there)
        model_recorded(job, entry->first, !entry->runs);
    for (pawl_wall occurrence = entry->first; occurrence.us != 0 && occurrence.us <= entry->last.us;
         occurrence = model_next(job, occurrence)) {
        model_made(job, occurrence);
        if (job->from_start)
            return;
    }
}

/* Which of the runs that are open now the rows are; whether each waits as it should. */
static void name_runs(expectation *o, const model_job *job, const pawl_run *const *rows,
                      size_t count, finding *wrong)
{
    size_t place = 0;

    for (size_t i = 0; i < count; i++) {
        if (rows[i]->state == PAWL_RUN_SKIPPED)
            continue;
        while (place < o->open.count && o->open.list[place].id != 0)
            place++;
        model_run *run = &o->open.list[place];
        run->id = rows[i]->id;
        run->work_id = rows[i]->work_id.value;
        if (run->waits != (rows[i]->state == PAWL_RUN_WAITING))
            finding_say(wrong, "%s: run %" PRId64 " of occurrence %" PRId64 " is %s, should %s",
                        job->name, run->id, rows[i]->scheduled_at.us,
                        pawl_run_state_name(rows[i]->state), run->waits ? "wait" : "not wait");
    }
}

static void compare_row(const expectation_entry *entry, const model_job *job, const pawl_run *row,
                        finding *wrong)
{
    if (!is_same_entry(entry, row))
        finding_say(wrong,
                    "%s: recorded %s %s %" PRId64 " to %" PRId64 " (%" PRId64
                    "), not %s %s %" PRId64 " to %" PRId64 " (%" PRId64 ")",
                    job->name, pawl_run_state_name(row->state), pawl_run_reason_name(row->reason),
                    row->scheduled_at.us, row->last_occurrence_at.us, row->occurrences,
                    entry->runs ? "a run" : "a skip", pawl_run_reason_name(entry->reason),
                    entry->first.us, entry->last.us, entry->occurrences);
}

bool expectation_follow(expectation *o, model_job *job, const pawl_run *const *rows, size_t count,
                        finding *wrong)
{
    size_t place = 0;

    if (count != expectation_to_record(o))
        finding_say(wrong,
                    "%s: %zu entries were recorded, not %zu; the first is occurrence %" PRId64,
                    job->name, count, expectation_to_record(o),
                    count > 0 ? rows[0]->scheduled_at.us : o->entries[0].first.us);
    for (size_t i = 0; i < count && !wrong->found; i++) {
        while (o->entries[place].was_there)
            place++;
        compare_row(&o->entries[place++], job, rows[i], wrong);
    }
    if (wrong->found)
        return false;
    name_runs(o, job, rows, count, wrong);
    for (size_t i = 0; i < o->count; i++)
        record(job, &o->entries[i]);
    job->open.count = 0;
    for (size_t i = 0; i < o->open.count; i++)
        model_runs_add(&job->open, o->open.list[i]);
    if (o->count > 0) {
        job->since = o->since;
        job->last = o->last;
        job->awaited = o->awaits ? job->open.list[job->open.count - 1].id : 0;
        job->awaited_since = PAWL_TIME_UNSET;
        job->awaited_is_known = false;
    }
    job->lax_line &= model_runs_waiting(&job->open) > 0;
    job->version++;
    return !wrong->found;
}
