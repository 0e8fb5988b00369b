/* bench/main.c - measure pawl beside programs written by hand. bench/README.md explains the table.
 */
#include <stdio.h>
#include <string.h>

#include "compare.h"
#include "delivery.h"
#include "held.h"
#include "idle.h"
#include "job.h"
#include "latency.h"
#include "memory.h"
#include "plan.h"
#include "report.h"
#include "throughput.h"
#include "timer.h"

static void bench_measure(row *r, grounds *g, held_runs *runs, const options *opts)
{
    switch (r->kind) {
    case ROW_RAW:
        compare_with_raw(r, g, opts);
        break;
    case ROW_BALLAST:
        compare_with_ballast(r, g, opts);
        break;
    case ROW_HELD:
        held_measure(r, g, runs, opts);
        break;
    case ROW_MEMORY:
        memory_measure(r, g, opts);
        break;
    case ROW_WORKER:
        throughput_measure(r, g, opts);
        break;
    case ROW_LATENCY:
        latency_measure(r, g, opts);
        break;
    case ROW_IDLE:
        idle_measure(r, g, opts);
        break;
    case ROW_TIMER:
        timer_measure(r, g, opts);
        break;
    case ROW_JOB:
        job_measure(r, g, opts);
        break;
    case ROW_DELIVERY:
        delivery_measure(r, g, opts);
        break;
    case ROW_TEN:
        delivery_measure_ten(r, g, opts);
        break;
    }
}

static void measure_all(plan *p, const options *opts)
{
    held_runs runs = {0};
    grounds g = {0};

    for (size_t i = 0; i < p->count; i++) {
        row *r = &p->rows[i];

        if (g.pawl.engine != *r->target->engine) {
            if (g.pawl.engine)
                grounds_drop(&g);
            grounds_init(&g, opts, r->target);
        }
        grounds_change(&g, r->target);
        report_progress(p, i);
        bench_measure(r, &g, &runs, opts);
        report_row(p, i, opts);
    }
    if (g.pawl.engine)
        grounds_drop(&g);
}

int main(int argc, char **argv)
{
    static const child_job *const jobs[] = {&memory_job, &latency_pawl_job, &latency_raw_job,
                                            &idle_job};
    options opts;
    plan p;

    if (child_run(argc, argv, jobs, sizeof jobs / sizeof jobs[0]))
        return 0;
    opts = options_parse(argc, argv);
    p = plan_make(&opts);
    if (opts.list) {
        for (size_t i = 0; i < p.count; i++)
            puts(p.rows[i].id);
    } else {
        report_begin(&p, &opts);
        measure_all(&p, &opts);
        report_end(&p, &opts);
    }
    plan_free(&p);
    return 0;
}
