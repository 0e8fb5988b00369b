/* tests/upgrade/upgraded_fixture.c - migrates what the previous library has just deployed. */
#include "child_process.h"
#include "fixture.h"

void fixture_deployed(fixture *f)
{
    child migrate = {0};

    child_start_on(&migrate, "migrate_helper", f, NULL);
    child_expect_success(&migrate, "migrate_helper");
    child_end(&migrate);
}
