/* tests/sequences/sequence_step.c - an operation as a readable line. */
#include "sequence_step.h"

#include <inttypes.h>

static const char *const names[STEP_KINDS] = {
    [STEP_SEND] = "send",
    [STEP_TX_SEND] = "send in transaction",
    [STEP_TX_END] = "end transaction",
    [STEP_CLAIM] = "claim",
    [STEP_ACK_AND_CLAIM] = "ack and claim",
    [STEP_ACK] = "ack",
    [STEP_ABANDON] = "abandon",
    [STEP_FAIL] = "fail",
    [STEP_RENEW] = "renew",
    [STEP_DEFER] = "defer",
    [STEP_RELEASE] = "release",
    [STEP_FORGET] = "forget everything",
    [STEP_OWNED] = "list owned",
    [STEP_REAP] = "reap",
    [STEP_EXPIRE] = "expire",
    [STEP_RETAIN] = "retain",
    [STEP_FOLD] = "fold",
    [STEP_CANCEL] = "cancel",
    [STEP_REDRIVE] = "redrive",
    [STEP_PURGE] = "purge",
    [STEP_CANCEL_MATCHING] = "cancel matching",
    [STEP_REDRIVE_MATCHING] = "redrive matching",
    [STEP_PURGE_MATCHING] = "purge matching",
    [STEP_GET] = "get",
    [STEP_FIND] = "find",
    [STEP_LIST] = "list",
    [STEP_CLOCK] = "clock",
    [STEP_SWEEP] = "sweeps are due",
    [STEP_REOPEN] = "reopen",
    [STEP_CHECK] = "compare everything",
};

static const char *const pick_names[PICK_KINDS] = {
    [PICK_MINE] = "",
    [PICK_STALE] = " stale",
    [PICK_FOREIGN] = " another's",
    [PICK_MADE_UP] = " made up",
    [PICK_ZERO] = " fence 0",
};

static void say_ms(FILE *out, const char *what, int64_t ms)
{
    if (ms != 0)
        fprintf(out, ", %s %" PRId64 " ms", what, ms);
}

static void say_sending(FILE *out, const sending *s)
{
    fprintf(out, " [%d%s to %s, content %d, priority %d", s->number,
            s->library_id ? " (new id)" : "", model_topics[s->topic], s->content, s->priority);
    say_ms(out, "due in", s->due_ms);
    say_ms(out, "delayed", s->delay_ms);
    say_ms(out, "lives", s->ttl_ms);
    say_ms(out, "own lease", s->lease_ms);
    if (s->max_attempts)
        fprintf(out, ", %d attempts", s->max_attempts);
    if (s->correlation)
        fprintf(out, ", correlation '%s'", model_correlation(s->correlation));
    fprintf(out, "%s%s]", s->own_backoff ? ", own backoff" : "", s->remote ? ", remote" : "");
}

static void say_topics(FILE *out, unsigned topics)
{
    if (topics == 0)
        return;
    fputs(" of", out);
    for (int i = 0; i < MODEL_TOPICS; i++)
        if (topics & (1u << i))
            fprintf(out, " %s", model_topics[i]);
}

static void say_filter(FILE *out, const step *s)
{
    for (int i = 0; i < PAWL_STATE_COUNT; i++)
        if (s->states & (1u << i))
            fprintf(out, " %s", pawl_state_name((pawl_state)i));
    if (s->topic != NO_OWNER)
        fprintf(out, " of %s", model_topics[s->topic]);
    if (s->correlation)
        fprintf(out, " with '%s'", model_correlation(s->correlation));
    if (s->before != NO_OWNER)
        fprintf(out, " before %d", s->before);
    if (s->kind == STEP_LIST)
        fprintf(out, ", up to %d", s->limit);
}

static bool has_owner(step_kind kind)
{
    return kind >= STEP_CLAIM && kind <= STEP_OWNED;
}

static void say_more(FILE *out, const step *s)
{
    bool answers = s->kind >= STEP_ACK_AND_CLAIM && s->kind <= STEP_RELEASE;

    if (s->kind == STEP_CLAIM || s->kind == STEP_ACK_AND_CLAIM) {
        fprintf(out, ", up to %d", s->limit);
        say_topics(out, s->topics);
        fputs(s->remote ? ", remote" : "", out);
    }
    bool delays = s->kind == STEP_ABANDON || s->kind == STEP_DEFER;
    if (delays && s->delay_ms == PAWL_DELAY_BY_POLICY)
        fputs(" by policy", out);
    else if (delays)
        say_ms(out, "delay", s->delay_ms);
    if (s->kind == STEP_CLAIM || s->kind == STEP_ACK_AND_CLAIM || s->kind == STEP_RENEW)
        say_ms(out, "for", s->lease_ms);
    if (answers && s->error)
        fprintf(out, " '%s'", s->error);
    if (s->kind == STEP_RETAIN)
        fprintf(out, " %" PRId64 " ms", s->keep_ms);
    if (s->kind == STEP_CLOCK)
        fprintf(out, " %c%" PRId64 ".%06d s", s->clock_us < 0 ? '-' : '+',
                (s->clock_us < 0 ? -s->clock_us : s->clock_us) / 1000000,
                (int)((s->clock_us < 0 ? -s->clock_us : s->clock_us) % 1000000));
    if (s->kind == STEP_TX_SEND || s->kind == STEP_TX_END)
        fprintf(out, " %d", s->handle);
    if (s->kind == STEP_TX_END)
        fputs(s->commit ? " commit" : " roll back", out);
    if (s->kind == STEP_LIST || (s->kind >= STEP_CANCEL_MATCHING && s->kind <= STEP_PURGE_MATCHING))
        say_filter(out, s);
}

void step_describe(const step *s, FILE *out)
{
    if (has_owner(s->kind))
        fprintf(out, "%s: ", model_owner_names[s->owner]);
    fputs(names[s->kind], out);
    for (size_t i = 0; i < s->pick_count; i++)
        fprintf(out, "%s %d%s", i > 0 ? "," : "", s->picks[i].number, pick_names[s->picks[i].kind]);
    for (size_t i = 0; i < s->sending_count; i++)
        say_sending(out, &s->sendings[i]);
    say_more(out, s);
    if (!has_owner(s->kind) && s->kind != STEP_CLOCK && s->store != 0)
        fputs(" (second store)", out);
    if (s->lost == LOST_ANSWER)
        fputs("; the answer is lost", out);
    if (s->lost == LOST_REQUEST)
        fputs("; it gets lost on the way", out);
    if (s->fault)
        fprintf(out, "; call %d of the database's library fails", s->fault);
}
