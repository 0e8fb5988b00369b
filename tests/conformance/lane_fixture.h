/* tests/conformance/lane_fixture.h - helpers shared by the tests of lane lifetimes. */
#ifndef PAWL_TEST_LANE_FIXTURE_H
#define PAWL_TEST_LANE_FIXTURE_H

#include "queue_fixture.h"

int lane_count(fixture *f);
/* Call the step of the maintenance that removes lanes. */
void lanes_fold(fixture *f, int times);
/* Let so much time pass that empty lanes go, and remove them: several calls on PostgreSQL, and more
 * while another session's transaction is open. */
void lanes_clean(fixture *f);
/* Claim and finish everything that is ready. */
const char *lanes_take(fixture *f);
/* "topic done failed" of all topics. */
const char *lanes_totals(fixture *f);

#endif
