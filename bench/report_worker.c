/* bench/report_worker.c - the rows of the worker that are no rates: latency and idleness. */
#include "report_worker.h"

/* From the sender's answer to the handler's start. */
#define GOAL_P50_MS 1.0
#define GOAL_P99_MS 5.0

void report_worker_heading(const row *r, const options *opts)
{
    if (r->kind == ROW_IDLE) {
        printf("  %-58s %12s %12s %12s\n", "CPU of an idle worker, user and system", "over",
               "CPU, worker", "its sessions");
        return;
    }
    printf("  from the sender's answer to the handler's start, %d messages at 200 a second\n",
           opts->latency_rounds * opts->letters);
    printf("  %-58s %9s %9s %9s %9s\n", "milliseconds", "p50", "p90", "p99", "max");
}

static const char *word(double value, double goal)
{
    return value < goal ? "met" : "MISSED";
}

static void print_spread(const char *who, const spread *s)
{
    if (s->count > 0)
        printf("    %-56s %9.3f %9.3f %9.3f %9.3f\n", who, s->p50, s->p90, s->p99, s->max);
}

static void print_latency(const row *r)
{
    const spread *s = &r->pawl_latency;

    printf("  %s\n", r->text);
    print_spread("pawl's worker", s);
    print_spread("by hand: woken, and one claiming UPDATE committed", &r->raw_latency);
    print_spread("by hand: woken", &r->raw_wake);
    if (s->count > 0)
        printf("    pawl: p50 under %g ms %s, p99 under %g ms %s\n", GOAL_P50_MS,
               word(s->p50, GOAL_P50_MS), GOAL_P99_MS, word(s->p99, GOAL_P99_MS));
}

void report_worker_row(const row *r, const options *opts)
{
    if (r->kind == ROW_LATENCY) {
        print_latency(r);
        return;
    }
    printf("  %-58s %10.3g s %9.1f ms", r->text, opts->idle_seconds, r->cpu_seconds * 1000);
    if (r->server_cpu_seconds > 0)
        printf(" %9.1f ms", r->server_cpu_seconds * 1000);
    putchar('\n');
}

/* A message may be in its handler before the sender has its answer: these may be below 0. */
static void write_spread(FILE *file, const char *name, const spread *s)
{
    if (s->count == 0)
        fprintf(file, ", \"%s\": null", name);
    else
        fprintf(file,
                ", \"%s\": {\"p50\": %.4f, \"p90\": %.4f, \"p99\": %.4f, \"max\": %.4f, "
                "\"messages\": %d}",
                name, s->p50, s->p90, s->p99, s->max, s->count);
}

static void write_goal(FILE *file, const char *name, double goal, double value, int measured)
{
    fprintf(file, ", \"%s\": {\"below_ms\": %g, \"met\": %s}", name, goal,
            !measured ? "null" : (value < goal ? "true" : "false"));
}

void report_worker_json(FILE *file, const row *r, const options *opts)
{
    const spread *s = &r->pawl_latency;

    if (r->kind == ROW_LATENCY) {
        write_spread(file, "pawl_ms", s);
        write_spread(file, "raw_ms", &r->raw_latency);
        write_spread(file, "raw_wake_ms", &r->raw_wake);
        write_goal(file, "goal_p50", GOAL_P50_MS, s->p50, s->count);
        write_goal(file, "goal_p99", GOAL_P99_MS, s->p99, s->count);
    }
    if (r->kind == ROW_IDLE) {
        fprintf(file, ", \"idle_seconds\": %g, \"cpu_seconds\": %.6f", opts->idle_seconds,
                r->cpu_seconds);
        if (r->server_cpu_seconds > 0)
            fprintf(file, ", \"server_cpu_seconds\": %.6f", r->server_cpu_seconds);
        else
            fprintf(file, ", \"server_cpu_seconds\": null");
    }
}

void report_worker_bars(const row *r, int *bars, int *met)
{
    const spread *s = &r->pawl_latency;

    if (r->kind != ROW_LATENCY || s->count == 0)
        return;
    *bars += 2;
    *met += (s->p50 < GOAL_P50_MS) + (s->p99 < GOAL_P99_MS);
}
