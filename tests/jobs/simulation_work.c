/* tests/jobs/simulation_work.c - those who handle the runs: at once, late, never, with failures. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "queue_fixture.h"
#include "simulation.h"

/* Each run is one message. */
static void each_claimed(simulation *p, const simulation_held *held, pawl_wall now)
{
    for (int i = 0; i < SIMULATION_JOBS; i++)
        if (!model_claimed(&p->jobs[i], held->run_id, held->item.id.value, now))
            finding_say(&p->wrong, "run %" PRId64 " has two messages", held->run_id);
}

static void each_ended(simulation *p, int64_t run_id, pawl_wall now)
{
    for (int i = 0; i < SIMULATION_JOBS; i++)
        model_ended(&p->jobs[i], run_id, now);
}

static void claim_runs(simulation *p)
{
    pawl_messages *list = NULL;
    pawl_wall now = simulation_now(p);
    int room = (int)(SIMULATION_HELD - p->held_count);
    pawl_error err = PAWL_ERROR_INIT;

    if (room == 0)
        return;
    if (pawl_queue_claim(fixture_store(p->f), queue_owner(1), 30000, room, NULL, &list, &err) !=
        PAWL_OK) {
        finding_say(&p->wrong, "cannot claim: %s", err.message);
        return;
    }
    for (size_t i = 0; i < pawl_messages_count(list); i++) {
        const pawl_message *message = pawl_messages_at(list, i);
        simulation_held held = {{pawl_message_work_id(message), pawl_message_fence(message)},
                                pawl_message_run_id(message)};
        each_claimed(p, &held, now);
        p->held[p->held_count++] = held;
    }
    pawl_messages_free(list);
}

/* Whether the run, which failed or was lost, may be tried again. */
static bool goes_on(simulation *p, int64_t run_id)
{
    pawl_runs *one = NULL;
    bool on = false;

    if (pawl_run_get(fixture_store(p->f), run_id, &one, NULL) == PAWL_OK) {
        pawl_run_state state = pawl_runs_at(one, 0)->state;
        on = state == PAWL_RUN_READY || state == PAWL_RUN_RUNNING;
    }
    pawl_runs_free(one);
    return on;
}

/* After leases or messages ran out: which runs that ended. */
static void learn_ends(simulation *p, pawl_wall now)
{
    for (int i = 0; i < SIMULATION_JOBS; i++) {
        model_job *job = &p->jobs[i];
        for (size_t k = job->open.count; k-- > 0;) {
            const model_run *run = &job->open.list[k];
            if (!run->waits && (run->started || job->had_ttl) && !goes_on(p, run->id))
                model_ended(job, run->id, now);
        }
    }
}

/* One that does not end well, or not at all. */
static void fail_run(simulation *p, const simulation_held *held, int how)
{
    pawl_store *store = fixture_store(p->f);
    pawl_wall now = simulation_now(p);
    size_t changed = 0;
    pawl_status st = PAWL_OK;

    if (how == 0) /* its worker died */
        return;
    if (how == 1)
        st = pawl_queue_fail(store, queue_owner(1), &held->item, 1, "no", &changed, NULL);
    else
        st = pawl_queue_abandon(store, queue_owner(1), &held->item, 1, "not now", 60000, &changed,
                                NULL);
    if (st != PAWL_OK)
        finding_say(&p->wrong, "a run cannot be answered: %s", pawl_status_name(st));
    if (changed > 0 && !goes_on(p, held->run_id))
        each_ended(p, held->run_id, now);
    else
        p->covered.retried += (int64_t)changed;
}

static void end_runs(simulation *p, const pawl_receipt *items, const int64_t *run_ids, size_t count)
{
    pawl_wall now = simulation_now(p);
    size_t changed = 0;

    if (pawl_queue_ack(fixture_store(p->f), queue_owner(1), items, count, &changed, NULL) !=
        PAWL_OK)
        finding_say(&p->wrong, "runs cannot be acknowledged");
    for (size_t i = 0; i < count; i++)
        if (changed == count || !goes_on(p, run_ids[i]))
            each_ended(p, run_ids[i], now);
    p->covered.ended += (int64_t)changed;
}

static void answer_runs(simulation *p)
{
    pawl_receipt items[SIMULATION_HELD];
    int64_t run_ids[SIMULATION_HELD];
    size_t count = 0;

    for (size_t i = p->held_count; i-- > 0 && !p->wrong.found;) {
        simulation_held held = p->held[i];
        int how = simulation_dice(p, 24);
        if (how > 15)
            continue; /* it takes its time */
        p->held[i] = p->held[--p->held_count];
        if (how < 3) {
            fail_run(p, &held, how);
        } else {
            run_ids[count] = held.run_id;
            items[count++] = held.item;
        }
    }
    if (count > 0)
        end_runs(p, items, run_ids, count);
}

static void keep_house(simulation *p)
{
    pawl_store *store = fixture_store(p->f);
    pawl_wall now = simulation_now(p);
    size_t reaped = 0, expired = 0, cleaned = 0;

    if (pawl_queue_reap(store, &reaped, NULL, NULL) != PAWL_OK ||
        pawl_queue_expire(store, &expired, NULL, NULL) != PAWL_OK)
        finding_say(&p->wrong, "the housekeeping failed");
    if (reaped + expired > 0)
        learn_ends(p, now);
    if (pawl_job_clean(store, &cleaned, NULL, NULL) != PAWL_OK)
        finding_say(&p->wrong, "the history cannot be cleaned");
    p->covered.reaped += (int64_t)reaped;
    p->covered.cleaned += (int64_t)cleaned;
}

void simulation_work(simulation *p)
{
    if (simulation_dice(p, 6) == 0)
        keep_house(p);
    claim_runs(p);
    answer_runs(p);
}
