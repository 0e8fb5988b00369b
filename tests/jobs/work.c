/* tests/jobs/work.c - those who handle the runs: at once, late, never, with failures. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "play.h"

static void each_claimed(play *p, int64_t run_id, pawl_wall now)
{
    for (int i = 0; i < PLAY_JOBS; i++)
        model_claimed(&p->jobs[i], run_id, now);
}

static void each_ended(play *p, int64_t run_id, pawl_wall now)
{
    for (int i = 0; i < PLAY_JOBS; i++)
        model_ended(&p->jobs[i], run_id, now);
}

/* Each run is one message. */
static void check_message(play *p, const pawl_message *message)
{
    int64_t run_id = pawl_message_run_id(message);
    pawl_runs *one = NULL;
    pawl_status st = pawl_job_run(fixture_store(p->f), run_id, &one, NULL);

    if (st == PAWL_OK &&
        pawl_runs_at(one, 0)->work_id.value != pawl_message_work_id(message).value)
        finding_say(&p->wrong, "run %" PRId64 " has two messages", run_id);
    pawl_runs_free(one);
}

static void claim(play *p)
{
    pawl_messages *list = NULL;
    pawl_wall now = play_now(p);
    int room = (int)(PLAY_HELD - p->held_count);
    pawl_error err = PAWL_ERROR_INIT;

    if (room == 0)
        return;
    if (pawl_queue_claim(fixture_store(p->f), kit_owner(1), 30000, room, NULL, &list, &err) !=
        PAWL_OK) {
        finding_say(&p->wrong, "cannot claim: %s", err.message);
        return;
    }
    for (size_t i = 0; i < pawl_messages_count(list); i++) {
        const pawl_message *message = pawl_messages_at(list, i);
        play_held held = {{pawl_message_work_id(message), pawl_message_fence(message)},
                          pawl_message_run_id(message)};
        each_claimed(p, held.run_id, now);
        check_message(p, message);
        p->held[p->held_count++] = held;
    }
    pawl_messages_free(list);
}

/* What the library did with runs that somebody lost, or that failed: those that have ended. */
static void learn_ends(play *p, pawl_wall now)
{
    for (int i = 0; i < PLAY_JOBS; i++) {
        model_job *job = &p->jobs[i];
        for (size_t k = job->open.count; k-- > 0;) {
            pawl_runs *one = NULL;
            int64_t run_id = job->open.list[k].id;
            if (job->open.list[k].waits)
                continue;
            if (pawl_job_run(fixture_store(p->f), run_id, &one, NULL) != PAWL_OK) {
                finding_say(&p->wrong, "%s: run %" PRId64 " is gone", job->name, run_id);
                return;
            }
            pawl_run_state state = pawl_runs_at(one, 0)->state;
            pawl_runs_free(one);
            if (state != PAWL_RUN_READY && state != PAWL_RUN_RUNNING)
                model_ended(job, run_id, now);
        }
    }
}

static void answer(play *p, size_t which)
{
    play_held held = p->held[which];
    pawl_store *store = fixture_store(p->f);
    pawl_wall now = play_now(p);
    size_t changed = 0;
    int how = play_dice(p, 20);
    pawl_status st;

    p->held[which] = p->held[--p->held_count];
    if (how == 0)
        return; /* its worker died */
    if (how < 3) {
        st = pawl_queue_abandon(store, kit_owner(1), &held.item, 1, "not now", 60000, &changed, NULL);
        learn_ends(p, now);
        p->covered.retried += (int64_t)changed;
    } else if (how == 3) {
        st = pawl_queue_fail(store, kit_owner(1), &held.item, 1, "no", &changed, NULL);
    } else {
        st = pawl_queue_ack(store, kit_owner(1), &held.item, 1, &changed, NULL);
    }
    if (st != PAWL_OK)
        finding_say(&p->wrong, "a run cannot be answered: %s", pawl_status_name(st));
    if (how >= 3 && changed > 0) {
        each_ended(p, held.run_id, now);
        p->covered.ended++;
    }
}

static void keep_house(play *p)
{
    pawl_store *store = fixture_store(p->f);
    pawl_wall now = play_now(p);
    size_t reaped = 0, expired = 0, cleaned = 0;

    if (pawl_queue_reap(store, &reaped, NULL) != PAWL_OK ||
        pawl_queue_expire(store, &expired, NULL) != PAWL_OK)
        finding_say(&p->wrong, "the housekeeping failed");
    if (reaped + expired > 0)
        learn_ends(p, now);
    if (pawl_job_clean(store, &cleaned, NULL) != PAWL_OK)
        finding_say(&p->wrong, "the history cannot be cleaned");
    p->covered.reaped += (int64_t)reaped;
    p->covered.cleaned += (int64_t)cleaned;
}

void play_work(play *p)
{
    if (play_dice(p, 6) == 0)
        keep_house(p);
    claim(p);
    for (size_t i = p->held_count; i-- > 0 && !p->wrong.text[0];)
        if (play_dice(p, 3))
            answer(p, i);
}
