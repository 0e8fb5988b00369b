/*
 * tests/fault/fault_run.h - the scenario of every kind of call, one of whose calls below fails.
 *
 * What is true after each step is in tests/scenario/scenario.h. A step that failed is repeated
 * without a fault and must succeed.
 */
#ifndef PAWL_FAULT_RUN_H
#define PAWL_FAULT_RUN_H

#include "failing.h"
#include "scenario.h"

extern const scenario_list fault_queue; /* fault_queue.c */
extern const scenario_list fault_inbox; /* fault_features.c, here and below */
extern const scenario_list fault_timer;
extern const scenario_list fault_job;

/* How many of the points are tried: every `stride`-th (test_stride) past the first `dense`. */
typedef struct fault_points {
    long dense;
    long stride;
} fault_points;
/* The point after `nth`. */
long fault_next_point(long nth, fault_points points);

/*
 * Run the steps with the 1st, 2nd, 3rd ... call of `kind` failing until nothing fails any more, and
 * print how many that were. `how` and `name` say what a failing call does.
 */
void fault_run_all(const scenario_list *list, failing_kind kind, int how, const char *name,
                   fault_points points);
/* The same for making the schema in an empty database and opening the store. */
void fault_deploy_all(failing_kind kind, int how, const char *name, fault_points points);

/* ---- for other runs ---- */

/* The fixture's options, without its log, which must not run out of memory. */
pawl_store_options fault_store_options(const fixture *f);
/* With the application's table {orders}. */
fixture *fault_fixture(void);
/* The application's own statement does not fail on its own, only with the connection. */
bool fault_application_sql(pawl_tx *tx, const char *sql);
/* Its row `n` of {orders}. */
pawl_status fault_write_row(scenario *s, pawl_tx *tx, int n, pawl_error *err);
/* Requests that reached the server before the cut are still executed; read the tables only then. */
void fault_wait_for_server(fixture *f);

#endif
