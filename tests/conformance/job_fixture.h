/* tests/conformance/job_fixture.h - helpers shared by the tests of jobs. */
#ifndef PAWL_TEST_JOB_FIXTURE_H
#define PAWL_TEST_JOB_FIXTURE_H

#include "queue_fixture.h"

/* A definition with everything else at its default; the payload is "p". */
pawl_job_definition job_define(const char *name, const char *schedule);
/* Put it; any failure ends the test. */
void job_put(fixture *f, const pawl_job_definition *definition);
/* Both at once. */
void job_add(fixture *f, const char *name, const char *schedule);
/* The job, until the test ends. */
const pawl_job *job_get(fixture *f, const char *name);

/* Tick until nothing is left to do at this moment; the sums of all of them. */
pawl_job_tick_result job_tick(fixture *f);
pawl_job_tick_result job_tick_on(pawl_store *store);
/* Move the clock, then tick. */
pawl_job_tick_result job_after(fixture *f, int64_t ms);

/* The history of a job, newest first, until the test ends. NULL: of all. */
pawl_runs *job_runs(fixture *f, const char *name);
/* Its newest entry. */
const pawl_run *job_last_run(fixture *f, const char *name);
/*
 * The history as one text, oldest first, until the test ends. Each entry is the state's name and
 * the occurrence in seconds since the fixture's start: "done@60"; "t" in front: triggered; of a
 * skip the last occurrence and how many: "overlap@60", "misfire@60-300*5".
 */
const char *job_story(fixture *f, const char *name);

/* Claims all runs, each with its own lease, and lists them. */
pawl_messages *job_claim(fixture *f);
/* Claim and acknowledge everything that is ready; how many. */
size_t job_work(fixture *f);

pawl_job_triggered job_trigger(fixture *f, const char *name);

#endif
