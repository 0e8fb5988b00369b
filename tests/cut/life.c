/* tests/cut/life.c - one life of a queue through the proxy, cut once. */
#include "life.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GONE_SECONDS 30
#define CALL_TIMEOUT_MS 20000

typedef struct life {
    world w;
    proxy *p;
    const campaign *c;
    tally *t;
} life;

void life_await_gone(fixture *f, int backend)
{
    time_t end = time(NULL) + GONE_SECONDS;

    while (backend != 0 &&
           fixture_count(f, "SELECT count(*) FROM pg_stat_activity WHERE pid = %d", backend) > 0) {
        if (time(NULL) > end)
            test_fail("the server's process %d is still there after %d seconds", backend,
                      GONE_SECONDS);
        sched_yield();
    }
}

static pawl_status believed(const life *l, pawl_status st)
{
    if (st == PAWL_E_IN_DOUBT && l->c->belief == BELIEVE_DOUBT_IS_FAILURE)
        return PAWL_E_UNAVAILABLE;
    if (st == PAWL_E_IN_DOUBT && l->c->belief == BELIEVE_DOUBT_IS_SUCCESS)
        return PAWL_OK;
    return st;
}

/* Something is wrong: NULL, or what. `ret_there` is how much of the step is in the tables. */
static const char *look(life *l, const step *s, int64_t *ret_there)
{
    const char *wrong = kit_check_note(l->w.f);

    *ret_there = s->effect ? fixture_count(l->w.f, "%s", s->effect) : 0;
    if (wrong)
        return wrong;
    if (*ret_there != 0 && *ret_there != s->whole)
        return test_note("it is there by %lld of %lld", (long long)*ret_there, (long long)s->whole);
    return NULL;
}

/* The server could be reached again at once, so that a call that may ask again has to. */
static bool reachable(const proxy_plan *plan)
{
    return !plan->then_refuse && (plan->deed == PROXY_CUT_BEFORE || plan->deed == PROXY_CUT_AFTER);
}

/* Does the answer of the call that was cut agree with what is there? */
static const char *judge(life *l, const step *s, pawl_status st, const pawl_error *err,
                         const proxy_report *cut, int64_t *ret_there)
{
    const char *wrong = look(l, s, ret_there);
    bool there = *ret_there != 0;

    if (wrong)
        return wrong;
    if (st != PAWL_OK && (err->status == PAWL_OK || !err->message[0]))
        return test_note("it answered %s and no error", pawl_status_name(st));
    if (st == PAWL_E_STORE)
        return test_note("it answered PAWL_E_STORE: %s", err->message);
    if (st == PAWL_E_IN_DOUBT && s->kind == STEP_READS)
        return "it only reads, and answered that it is in doubt";
    /* Whoever asks right after a whole answer cannot know yet that the connection has ended. */
    if (st == PAWL_E_IN_DOUBT && !cut->asked && cut->type != 'Z')
        return "it answered that it is in doubt, and nothing had been asked";
    if (st == PAWL_E_IN_DOUBT && s->kind == STEP_RESOLVES && reachable(&l->c->plan))
        return "it is in doubt, and could have asked again";
    if (st == PAWL_OK && s->whole != 0 && !there)
        return "it answered PAWL_OK, and nothing is there";
    if (st != PAWL_OK && st != PAWL_E_IN_DOUBT && there)
        return test_note("it answered %s (%s), and everything is there", pawl_status_name(st),
                         err->message);
    return NULL;
}

/* Make it again, or find out what it was: it must be done now, once. */
static const char *settle(life *l, const step *s, pawl_status st, int64_t there)
{
    pawl_error err = PAWL_ERROR_INIT;
    bool doubt = st == PAWL_E_IN_DOUBT && s->resolve;
    size_t changed = 0;
    int64_t now_there;

    st = (doubt ? s->resolve : s->call)(&l->w, &changed, &err);
    if (st != PAWL_OK)
        return test_note("it does not recover: %s", err.message);
    const char *wrong = look(l, s, &now_there);
    if (!wrong && now_there != s->whole)
        wrong = "it was made again, and nothing is there";
    if (!wrong && s->effect && changed != (size_t)(there && !s->again ? 0 : s->whole))
        wrong = test_note("made again it says that it changed %zu", changed);
    return wrong;
}

static void count(tally *t, const step *s, pawl_status st, int64_t there)
{
    t->points++;
    t->done += st == PAWL_OK;
    t->in_doubt += st == PAWL_E_IN_DOUBT;
    t->not_done += st != PAWL_OK && st != PAWL_E_IN_DOUBT;
    t->doubt_there += st == PAWL_E_IN_DOUBT && s->effect && there != 0;
}

static const char *live_step(life *l, const step *s)
{
    pawl_error err = PAWL_ERROR_INIT;
    bool cut_before = proxy_reported(l->p).happened;
    size_t changed = 0;
    int64_t there;

    if (s->prepare)
        s->prepare(&l->w);
    int64_t start_ms = test_clock_ms();
    pawl_status st = s->call(&l->w, &changed, &err);
    int64_t took_ms = test_clock_ms() - start_ms;
    proxy_report cut = proxy_reported(l->p);
    if (cut.happened == cut_before) {
        if (st != PAWL_OK)
            return test_note("it answered %s (%s) without being cut", pawl_status_name(st),
                             err.message);
        if (s->effect && changed != (size_t)s->whole)
            return test_note("it says that it changed %zu", changed);
        return NULL;
    }
    proxy_go_on(l->p);
    proxy_refuse(l->p, false);
    life_await_gone(l->w.f, cut.backend);
    l->t->latest_ms = took_ms > l->t->latest_ms ? took_ms : l->t->latest_ms;
    pawl_status taken = believed(l, st);
    const char *wrong = judge(l, s, taken, &err, &cut, &there);
    if (!wrong && st == PAWL_OK && s->kind == STEP_WRITES && changed != (size_t)s->whole)
        wrong = test_note("it answered PAWL_OK, and says that it changed %zu", changed);
    count(l->t, s, st, there);
    if (!wrong && taken != PAWL_OK)
        wrong = settle(l, s, taken, there);
    return wrong;
}

static const char *check_end(life *l)
{
    const char *end = fixture_text(
        l->w.f, "SELECT string_agg(correlation_id || ':' || state || '/' || retries, ' '"
                " ORDER BY correlation_id) FROM {message}");

    if (!end || strcmp(end, steps_end) != 0)
        return test_note("life ended with \"%s\", not with \"%s\"", end ? end : "", steps_end);
    return kit_check_note(l->w.f);
}

static void violation(life *l, long at, const char *name, const char *wrong)
{
    char type = proxy_reported(l->p).type;

    l->t->violations++;
    if (!l->t->first)
        l->t->first = test_note("%s, message %ld (%c), in %s: %s", l->c->name, at,
                                type ? type : '-', name, wrong);
}

/* Whether the message was reached. */
static bool live(life *l, long at)
{
    proxy_plan plan = l->c->plan;
    const char *wrong = NULL;
    const step *s = steps;

    plan.at = at;
    steps_clean(&l->w);
    proxy_plan_next(l->p, &plan);
    for (; !wrong && s->name; s++)
        wrong = live_step(l, s);
    if (wrong)
        violation(l, at, s[-1].name, wrong);
    else if ((wrong = check_end(l)))
        violation(l, at, "the end", wrong);
    proxy_report cut = proxy_reported(l->p);
    steps_close(&l->w);
    life_await_gone(l->w.f, cut.backend);
    return cut.happened;
}

void campaign_run(const campaign *c, tally *t)
{
    tally before = *t;
    life l = {.c = c, .t = t};

    l.w.f = fixture_open(NULL);
    l.p = proxy_new(fixture_url(l.w.f));
    l.w.target = proxy_target(l.p);
    l.w.prepare = c->prepare;
    l.w.timeout_ms = c->timeout_ms ? c->timeout_ms : CALL_TIMEOUT_MS;
    l.w.client_target =
        reachable(&c->plan) || c->plan.then_refuse ? l.w.target : fixture_url(l.w.f);
    fixture_exec(l.w.f, "CREATE TABLE {orders} (n integer PRIMARY KEY)");
    for (long at = c->plan.at; live(&l, at); at += c->stride)
        continue;
    printf("# %s: %ld points, %ld done, %ld not done, %ld in doubt (%ld of them there), "
           "%ld violations\n",
           c->name, t->points - before.points, t->done - before.done, t->not_done - before.not_done,
           t->in_doubt - before.in_doubt, t->doubt_there - before.doubt_there,
           t->violations - before.violations);
}
