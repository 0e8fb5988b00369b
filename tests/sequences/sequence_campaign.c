/* tests/sequences/sequence_campaign.c - many sequences, and the shortest form of one that fails. */
#include "sequence_campaign.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"
#include "test.h"

/* Of `make test`; sequences_test.c asks for 100 before it believes that all was seen. */
#define REDUCED_SQLITE 200
#define REDUCED_POSTGRES 100
#define WHOLE_SQLITE 20000
#define WHOLE_POSTGRES 2000
#define SHRINK_TRIES 400

/* The number of the step that failed, or how many there are. */
static size_t replay(runner *p, sequence_fixture *at, const sequence *q)
{
    runner_begin(p, at, q);
    for (size_t i = 0; i < q->count; i++)
        if (!runner_step(p, &q->steps[i]))
            return i;
    return q->count;
}

static void leave_out(sequence *q, size_t from, size_t count)
{
    memmove(&q->steps[from], &q->steps[from + count],
            (q->count - from - count) * sizeof q->steps[0]);
    q->count -= count;
}

/* One attempt to make `q` shorter: takes over `shorter` if that fails as well, in whatever way. */
static bool still_fails(runner *p, sequence_campaign *c, sequence *q, sequence *shorter,
                        finding *last)
{
    size_t failed_at;

    if (c->shrink_tries <= 0)
        return false;
    c->shrink_tries--;
    failed_at = replay(p, c->at, shorter);
    if (failed_at == shorter->count)
        return false;
    shorter->count = failed_at + 1;
    *q = *shorter;
    *last = p->wrong;
    return true;
}

/* Leave out whole steps, in pieces of half, a quarter, ... one. */
static void shrink_steps(runner *p, sequence_campaign *c, sequence *q, sequence *room,
                         finding *last)
{
    for (size_t piece = q->count / 2; piece > 0; piece /= 2)
        for (size_t from = 0; from + piece <= q->count && c->shrink_tries > 0;) {
            *room = *q;
            leave_out(room, from, piece);
            if (!still_fails(p, c, q, room, last))
                from += piece;
        }
}

/* Leave out messages of a step; later ones move up. */
static void shrink_lists(runner *p, sequence_campaign *c, sequence *q, sequence *room,
                         finding *last)
{
    for (size_t at = 0; at < q->count; at++) {
        for (size_t i = 0; i < q->steps[at].sending_count && q->steps[at].sending_count > 1;) {
            step *s = &room->steps[at];

            *room = *q;
            memmove(&s->sendings[i], &s->sendings[i + 1],
                    (--s->sending_count - i) * sizeof s->sendings[0]);
            if (!still_fails(p, c, q, room, last))
                i++;
        }
        for (size_t i = 0; i < q->steps[at].pick_count && q->steps[at].pick_count > 1;) {
            step *s = &room->steps[at];

            *room = *q;
            memmove(&s->picks[i], &s->picks[i + 1], (--s->pick_count - i) * sizeof s->picks[0]);
            if (!still_fails(p, c, q, room, last))
                i++;
        }
    }
}

static void shrink(runner *p, sequence_campaign *c, sequence *q, finding *last)
{
    sequence *room = malloc(sizeof *room);

    if (!room)
        return;
    shrink_steps(p, c, q, room, last);
    shrink_lists(p, c, q, room, last);
    shrink_steps(p, c, q, room, last);
    free(room);
}

static void write_report(sequence_campaign *c, size_t length, const finding *wrong)
{
    FILE *out = fmemopen(c->text, sizeof c->text, "w");

    if (!out)
        return;
    fprintf(out,
            "PAWL_TEST_ENGINE=%s PAWL_SEQUENCES_SEED=%" PRIu64
            ": operation %zu of %zu, shortened: %s\n",
            c->at->postgres ? "postgres" : "sqlite", c->q.seed, c->q.count, length, wrong->text);
    for (size_t i = 0; i < c->q.count; i++) {
        fprintf(out, "%3zu  ", i + 1);
        step_describe(&c->q.steps[i], out);
        fputc('\n', out);
    }
    fclose(out);
}

/* The report as remarks of the test. */
static void print_report(void *context)
{
    const char *line = ((sequence_campaign *)context)->text;

    for (const char *end; (end = strchr(line, '\n')); line = end + 1)
        printf("# %.*s\n", (int)(end - line), line);
}

/* One sequence, made while it is played. False: it failed, and `q` ends with the step that did. */
static bool run_one(sequence_campaign *c, uint64_t seed)
{
    generator g;
    step next;

    generator_begin(&g, seed, c->at->postgres, &c->q);
    runner_begin(&c->p, c->at, &c->q);
    while (c->q.count < SEQUENCE_STEPS && generator_next(&g, &c->p.m, &next)) {
        c->q.steps[c->q.count++] = next;
        c->steps++;
        if (!runner_step(&c->p, &next))
            return false;
    }
    return true;
}

static bool run_and_shorten(void *context, uint64_t seed, finding *wrong)
{
    sequence_campaign *c = context;

    if (run_one(c, seed))
        return true;
    size_t length = c->q.count;
    finding last = c->p.wrong;
    shrink(&c->p, c, &c->q, &last);
    write_report(c, length, &last);
    return finding_say(wrong, "shortened to %zu operations: %.600s", c->q.count, last.text);
}

sequence_campaign *sequence_campaign_new(sequence_fixture *at)
{
    sequence_campaign *c = calloc(1, sizeof *c);
    long reduced = at->postgres ? REDUCED_POSTGRES : REDUCED_SQLITE;
    long whole = at->postgres ? WHOLE_POSTGRES : WHOLE_SQLITE;

    if (!c)
        test_fail("out of memory");
    test_defer(free, c);
#ifdef PAWL_TEST_SANITIZED
    whole /= 5;
    reduced /= at->postgres ? 2 : 1; /* fewer on SQLite would not see everything */
#endif
    campaign_init(&c->base, "PAWL_SEQUENCES", reduced, whole);
    c->base.play = run_and_shorten;
    c->base.report = print_report;
    c->base.context = c;
    c->at = at;
    c->shrink_tries = SHRINK_TRIES;
    return c;
}
