/* tests/cut/cut_test.c - the connection is cut at every message of the protocol. */
#include <stdio.h>

#include "cut_run.h"

/* Of `make test`. Primes: most exchanges are of five messages and would be cut at the same one. */
#define STRIDE 29
#define STRIDE_OF_VARIANTS 97
#define STRIDE_TO_CATCH 53 /* fewer points may have none that is in doubt and done */

static const char *describe_cut(const proxy_plan *plan, bool prepare)
{
    return test_note(
        "cut %s a message to the %s%s", plan->deed == PROXY_CUT_BEFORE ? "before" : "after",
        plan->way == PROXY_TO_SERVER ? "server" : "client", prepare ? ", prepared" : "");
}

/* Before and after, to the server and to the client. */
static cut_tally cut_everywhere(bool prepare, cut_belief belief, long stride)
{
    static const proxy_deed deeds[] = {PROXY_CUT_BEFORE, PROXY_CUT_AFTER};
    cut_tally t = {0};

    for (int i = 0; i < 4; i++) {
        proxy_plan plan = {.deed = deeds[i % 2], .way = i / 2 ? PROXY_TO_CLIENT : PROXY_TO_SERVER};
        /* The four start at different messages, so that a part of them is spread well. */
        plan.at = 1 + i % stride;
        cut_campaign c = {describe_cut(&plan, prepare), plan, stride, prepare, belief, 0};
        cut_campaign_run(&c, &t);
    }
    return t;
}

static void expect_none(const cut_tally *t)
{
    assert_true(t->points > 0);
    if (t->violations > 0)
        test_fail("%ld violations, the first: %s", t->violations, t->first);
}

/* Every kind of result was seen, or the cuts were not where they should be. */
static void expect_all_kinds(const cut_tally *t)
{
    assert_true(t->done > 0 && t->not_done > 0 && t->in_doubt > 0);
    assert_true(t->doubt_there > 0 && t->doubt_there < t->in_doubt);
}

PAWL_TEST(the_scenario_survives_a_cut_at_every_message)
{
    cut_tally t = cut_everywhere(false, BELIEVE_THE_ANSWER, test_stride(STRIDE));

    printf("# cut points: %ld, violations: %ld\n", t.points, t.violations);
    expect_none(&t);
    expect_all_kinds(&t);
}

PAWL_TEST(the_scenario_with_prepared_statements_survives_a_cut_at_every_message)
{
    cut_tally t = cut_everywhere(true, BELIEVE_THE_ANSWER, test_stride(STRIDE_OF_VARIANTS));

    printf("# cut points: %ld, violations: %ld\n", t.points, t.violations);
    expect_none(&t);
}

static void expect_some(const cut_tally *t, const char *what)
{
    printf("# cut points: %ld; %s was caught %ld times, first: %s\n", t->points, what,
           t->violations, t->first ? t->first : "-");
    if (t->violations == 0)
        test_fail("%s was not caught", what);
}

PAWL_TEST(treating_in_doubt_as_failed_is_caught)
{
    cut_tally t = cut_everywhere(false, BELIEVE_DOUBT_IS_FAILURE, test_stride(STRIDE_TO_CATCH));

    expect_some(&t, "taking in doubt for not done");
}

PAWL_TEST(treating_in_doubt_as_done_is_caught)
{
    cut_tally t = cut_everywhere(false, BELIEVE_DOUBT_IS_SUCCESS, test_stride(STRIDE_TO_CATCH));

    expect_some(&t, "taking in doubt for done");
}
