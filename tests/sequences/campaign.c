/* tests/sequences/campaign.c - many sequences, and the shortest form of one that fails. */
#include "campaign.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

/* Of `make test`; sequences_test.c asks for 100 before it believes that all was seen. */
#define REDUCED_SQLITE 200
#define REDUCED_POSTGRES 100
#define WHOLE_SQLITE 20000
#define WHOLE_POSTGRES 2000
#define SHRINK_TRIES 400

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

void campaign_init(campaign *c, place *at)
{
    bool one = setting("PAWL_SEQUENCES_SEED", 0) != 0;
    bool whole = setting("PAWL_TEST_WHOLE", 0) != 0;
    uint64_t usual = at->postgres ? REDUCED_POSTGRES : REDUCED_SQLITE;

    if (whole)
        usual = at->postgres ? WHOLE_POSTGRES : WHOLE_SQLITE;
#ifdef PAWL_TEST_SANITIZED
    usual /= whole ? 5 : at->postgres ? 2 : 1; /* fewer on SQLite would not see everything */
#endif
    memset(c, 0, sizeof *c);
    c->at = at;
    c->shrink_tries = SHRINK_TRIES;
    c->first_seed = setting("PAWL_SEQUENCES_SEED", 1);
    c->sequences = setting("PAWL_SEQUENCES_COUNT", one ? 1 : usual);
}

/* The number of the step that failed, or how many there are. */
static size_t replay(player *p, place *at, const sequence *q)
{
    player_begin(p, at, q);
    for (size_t i = 0; i < q->count; i++)
        if (!player_step(p, &q->steps[i]))
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
static bool still_fails(player *p, campaign *c, sequence *q, sequence *shorter, finding *last)
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
static void shrink_steps(player *p, campaign *c, sequence *q, sequence *room, finding *last)
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
static void shrink_lists(player *p, campaign *c, sequence *q, sequence *room, finding *last)
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

static void shrink(player *p, campaign *c, sequence *q, finding *last)
{
    sequence *room = malloc(sizeof *room);

    if (!room)
        return;
    shrink_steps(p, c, q, room, last);
    shrink_lists(p, c, q, room, last);
    shrink_steps(p, c, q, room, last);
    free(room);
}

static void report(campaign *c, const sequence *q, size_t length, const finding *wrong)
{
    FILE *out = fmemopen(c->report, sizeof c->report, "w");

    if (!out)
        return;
    fprintf(out,
            "PAWL_TEST_ENGINE=%s PAWL_SEQUENCES_SEED=%" PRIu64
            ": operation %zu of %zu, shortened: %s\n",
            c->at->postgres ? "postgres" : "sqlite", q->seed, q->count, length, wrong->text);
    for (size_t i = 0; i < q->count; i++) {
        fprintf(out, "%3zu  ", i + 1);
        step_describe(&q->steps[i], out);
        fputc('\n', out);
    }
    fclose(out);
}

/* One sequence, made while it is played. False: it failed, and `q` ends with the step that did. */
static bool play_one(campaign *c, player *p, sequence *q, uint64_t seed)
{
    generator g;
    step next;

    generator_begin(&g, seed, c->at->postgres, q);
    player_begin(p, c->at, q);
    while (q->count < SEQUENCE_STEPS && generator_next(&g, &p->m, &next)) {
        q->steps[q->count++] = next;
        c->steps++;
        if (!player_step(p, &next))
            return false;
    }
    return true;
}

void campaign_run(campaign *c)
{
    player *p = calloc(1, sizeof *p);
    sequence *q = calloc(1, sizeof *q);

    for (uint64_t i = 0; p && q && i < c->sequences && !c->failed; i++) {
        c->played++;
        if (play_one(c, p, q, c->first_seed + i))
            continue;
        size_t length = q->count;
        finding last = p->wrong;
        c->failed = true;
        c->failed_seed = q->seed;
        shrink(p, c, q, &last);
        c->failed_steps = q->count;
        snprintf(c->first, sizeof c->first, "%s", last.text);
        report(c, q, length, &last);
    }
    if (p)
        c->covered = p->covered;
    free(p);
    free(q);
}

void campaign_print(const campaign *c)
{
    const char *line = c->report;

    for (const char *end; (end = strchr(line, '\n')); line = end + 1)
        printf("# %.*s\n", (int)(end - line), line);
}
