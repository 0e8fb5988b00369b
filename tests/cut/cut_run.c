/* tests/cut/cut_run.c - the scenario through the proxy, cut once. */
#include "cut_run.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

#define CALL_TIMEOUT_MS 20000

typedef struct cut_run {
    scenario s;
    proxy *p;
    const cut_campaign *c;
    cut_tally *t;
} cut_run;

static pawl_status believed(const cut_run *r, pawl_status st)
{
    if (st == PAWL_E_IN_DOUBT && r->c->belief == BELIEVE_DOUBT_IS_FAILURE)
        return PAWL_E_UNAVAILABLE;
    if (st == PAWL_E_IN_DOUBT && r->c->belief == BELIEVE_DOUBT_IS_SUCCESS)
        return PAWL_OK;
    return st;
}

/* The server could be reached again at once, so that a call that may ask again has to. */
static bool reachable(const proxy_plan *plan)
{
    return !plan->then_refuse && (plan->deed == PROXY_CUT_BEFORE || plan->deed == PROXY_CUT_AFTER);
}

/* Does the result of the call that was cut agree with what is there? */
static const char *judge_answer(cut_run *r, const scenario_step *step, pawl_status st,
                                const pawl_error *err, const proxy_report *cut, int64_t *ret_there)
{
    const char *wrong = scenario_check_tables(&r->s, step, ret_there);

    if (wrong)
        return wrong;
    if (st != PAWL_OK && (err->status == PAWL_OK || !err->message[0]))
        return test_note("it answered %s and no error", pawl_status_name(st));
    if (st == PAWL_E_STORE)
        return test_note("it answered PAWL_E_STORE: %s", err->message);
    if (st == PAWL_E_IN_DOUBT && step->kind == SCENARIO_READS)
        return "it only reads, and answered that it is in doubt";
    /* A call right after a complete response cannot know yet that the connection has ended. */
    if (st == PAWL_E_IN_DOUBT && !cut->asked && cut->type != 'Z')
        return "it answered that it is in doubt, and nothing had been asked";
    if (st == PAWL_E_IN_DOUBT && step->kind == SCENARIO_RESOLVES && reachable(&r->c->plan))
        return "it is in doubt, and could have asked again";
    return scenario_judge(step, st, err, *ret_there);
}

/* Make it again, or find out what it was: it must be done now, once. */
static const char *resolve_step(cut_run *r, const scenario_step *step, pawl_status st,
                                int64_t there)
{
    pawl_error err = PAWL_ERROR_INIT;
    size_t changed = 0;
    int64_t now_there;

    if (st == PAWL_E_IN_DOUBT && step->resolve)
        st = step->resolve(&r->s, &changed, &err);
    else
        st = scenario_perform(&r->s, step, &changed, &err);
    if (st != PAWL_OK)
        return test_note("it does not recover: %s", err.message);
    const char *wrong = scenario_check_tables(&r->s, step, &now_there);
    if (!wrong && now_there != step->whole)
        wrong = "it was made again, and nothing is there";
    if (!wrong && step->effect && changed != (size_t)(there && !step->again ? 0 : step->whole))
        wrong = test_note("made again it says that it changed %zu", changed);
    return wrong;
}

static void count_answer(cut_tally *t, const scenario_step *step, pawl_status st, int64_t there)
{
    t->points++;
    t->done += st == PAWL_OK;
    t->in_doubt += st == PAWL_E_IN_DOUBT;
    t->not_done += st != PAWL_OK && st != PAWL_E_IN_DOUBT;
    t->doubt_there += st == PAWL_E_IN_DOUBT && step->effect && there != 0;
}

static const char *run_step(cut_run *r, const scenario_step *step)
{
    pawl_error err = PAWL_ERROR_INIT;
    bool cut_before = proxy_reported(r->p).happened;
    size_t changed = 0;
    int64_t there;

    if (step->prepare)
        step->prepare(&r->s);
    int64_t start_ms = test_clock_ms();
    pawl_status st = scenario_perform(&r->s, step, &changed, &err);
    int64_t took_ms = test_clock_ms() - start_ms;
    proxy_report cut = proxy_reported(r->p);
    if (cut.happened == cut_before) {
        if (st != PAWL_OK)
            return test_note("it answered %s (%s) without being cut", pawl_status_name(st),
                             err.message);
        if (step->effect && changed != (size_t)step->whole)
            return test_note("it says that it changed %zu", changed);
        return NULL;
    }
    proxy_go_on(r->p);
    proxy_refuse(r->p, false);
    fixture_await_backend_end(r->s.f, cut.backend);
    r->t->latest_ms = took_ms > r->t->latest_ms ? took_ms : r->t->latest_ms;
    pawl_status taken = believed(r, st);
    const char *wrong = judge_answer(r, step, taken, &err, &cut, &there);
    if (!wrong && st == PAWL_OK && step->kind == SCENARIO_WRITES && changed != (size_t)step->whole)
        wrong = test_note("it answered PAWL_OK, and says that it changed %zu", changed);
    count_answer(r->t, step, st, there);
    if (!wrong && taken != PAWL_OK)
        wrong = resolve_step(r, step, taken, there);
    return wrong;
}

static void note_violation(cut_run *r, long at, const char *name, const char *wrong)
{
    char type = proxy_reported(r->p).type;

    r->t->violations++;
    if (!r->t->first)
        r->t->first = test_note("%s, message %ld (%c), in %s: %s", r->c->name, at,
                                type ? type : '-', name, wrong);
}

/* The application's connection, and the store. */
static void close_all(scenario *s)
{
    PQfinish(s->client);
    s->client = NULL;
    scenario_close(s);
}

/*
 * Everything is as before the first step. The lane of the jobs' messages goes, too: whether it has
 * to be made changes what is exchanged.
 */
static void begin_run(scenario *s)
{
    scenario_clean(s->f);
    fixture_exec(s->f, "DELETE FROM {lane} WHERE topic = 'job';"
                       "DELETE FROM {lane_use} WHERE lane_id NOT IN (SELECT id FROM {lane})");
    memset(s->owned, 0, sizeof s->owned);
}

/* Whether the message was reached. */
static bool run_once(cut_run *r, long at)
{
    proxy_plan plan = r->c->plan;
    const char *wrong = NULL, *where = "the end";

    plan.at = at;
    begin_run(&r->s);
    proxy_plan_next(r->p, &plan);
    for (const scenario_step *step = cut_scenario.steps; !wrong && step->name; step++) {
        wrong = run_step(r, step);
        if (wrong)
            where = step->name;
    }
    if (!wrong)
        wrong = scenario_check_end(&r->s, cut_scenario.end);
    if (wrong)
        note_violation(r, at, where, wrong);
    proxy_report cut = proxy_reported(r->p);
    close_all(&r->s);
    fixture_await_backend_end(r->s.f, cut.backend);
    return cut.happened;
}

void cut_campaign_run(const cut_campaign *c, cut_tally *t)
{
    cut_tally before = *t;
    cut_run r = {.c = c, .t = t};
    fixture *f = fixture_open(NULL);

    r.p = proxy_new(fixture_url(f));
    r.s.f = f;
    r.s.url = proxy_target(r.p);
    r.s.options = *fixture_store_options(f);
    r.s.options.prepare = c->prepare;
    r.s.options.timeout_ms = c->timeout_ms ? c->timeout_ms : CALL_TIMEOUT_MS;
    /* libpq's own calls have no deadline: past the proxy where it falls silent. */
    r.s.client_url = reachable(&c->plan) || c->plan.then_refuse ? r.s.url : fixture_url(f);
    fixture_exec(f, "CREATE TABLE {orders} (n integer PRIMARY KEY)");
    for (long at = c->plan.at; run_once(&r, at); at += c->stride)
        continue;
    printf("# %s: %ld points, %ld done, %ld not done, %ld in doubt (%ld of them there), "
           "%ld violations\n",
           c->name, t->points - before.points, t->done - before.done, t->not_done - before.not_done,
           t->in_doubt - before.in_doubt, t->doubt_there - before.doubt_there,
           t->violations - before.violations);
}
