/* bench/report.c - the table for people and the list for machines. */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "basics.h"
#include "job.h"
#include "report_worker.h"
#include "timer.h"

static bool is_beside_raw(const row *self)
{
    return self->kind == ROW_RAW || self->kind == ROW_WORKER || self->kind == ROW_DELIVERY;
}

double row_ratio(const row *self)
{
    double against = is_beside_raw(self) ? self->raw_rate : self->pawl_reference;

    if (self->pawl_paired > 0)
        return self->pawl_paired;
    return against > 0 ? self->pawl_rate / against : 0;
}

double row_raw_ratio(const row *self)
{
    if (self->raw_paired > 0)
        return self->raw_paired;
    return self->raw_reference > 0 ? self->raw_rate / self->raw_reference : 0;
}

bool row_has_bar(const row *self)
{
    return self->bar > 0 && (self->kind == ROW_TIMER ? self->p99_ms > 0 : row_ratio(self) > 0);
}

bool row_met_bar(const row *self)
{
    if (self->kind == ROW_TIMER)
        return self->p99_ms <= self->bar;
    return row_ratio(self) >= self->bar;
}

/* 1234567 as "1,234,567"; "-" where nothing was measured. */
static const char *grouped(double value, char *text, size_t size)
{
    char digits[32];
    size_t length, used = 0;

    if (value <= 0) {
        snprintf(text, size, "-");
        return text;
    }
    snprintf(digits, sizeof digits, "%.0f", value);
    length = strlen(digits);
    for (size_t i = 0; i < length && used + 2 < size; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

void report_begin(const plan *p, const options *opts)
{
    double minutes = plan_duration(p, opts) / 60;

    printf("%ld cores, payloads of %zu bytes%s%s\n", sysconf(_SC_NPROCESSORS_ONLN),
           bench_payload_size, opts->note ? ", " : "", opts->note ? opts->note : "");
    printf("%zu row%s, %d round%s of %g s each side; takes about %.0f minute%s\n", p->count,
           p->count == 1 ? "" : "s", opts->rounds, opts->rounds == 1 ? "" : "s", opts->seconds,
           minutes < 1 ? 1 : minutes, minutes < 1.5 ? "" : "s");
    fflush(stdout);
}

void report_progress(const plan *p, size_t number)
{
    if (!isatty(STDERR_FILENO))
        return;
    if (number < p->count)
        fprintf(stderr, "\r%zu of %zu: %-50s\r", number + 1, p->count, p->rows[number].id);
    else
        fprintf(stderr, "\r%-70s\r", "");
    fflush(stderr);
}

/* Of the rows that are rates: what they are about. */
static const char *rate_title(const row *r)
{
    switch (r->kind) {
    case ROW_WORKER:
        return "a handler that does nothing";
    case ROW_DELIVERY:
        return "sent, received, its effect written, acknowledged";
    case ROW_TEN:
        return "the same with several destinations";
    default:
        return "messages in a transaction";
    }
}

static void print_headings(const row *r, const row *before, const options *opts)
{
    const char *second = "raw/s", *more = "";

    if (before && before->target == r->target && before->kind == r->kind)
        return;
    if (!before || before->target != r->target)
        printf("\n%s\n", r->target->title);
    if (r->kind == ROW_MEMORY) {
        printf("  %-58s %12s %12s\n", "peak memory of a worker", "at start", "at the end");
        return;
    }
    if (r->kind == ROW_LATENCY || r->kind == ROW_IDLE) {
        report_worker_heading(r, opts);
        return;
    }
    if (r->kind == ROW_TIMER) {
        printf("  %-45s %12s %11s %11s %11s  %s\n", "one call", "pending", "median", "p99",
               "longest", "bar for p99");
        return;
    }
    if (r->kind == ROW_JOB) {
        printf("  %-33s %9s %11s %11s %11s %11s %7s  %s\n", "one call", "jobs", "median", "p99",
               "raw median", "raw p99", "ratio", "to ten jobs");
        return;
    }
    if (r->kind == ROW_BALLAST)
        printf("  with %" PRId64 " finished and %" PRId64 " future messages\n", opts->ballast,
               opts->ballast);
    if (r->kind == ROW_HELD)
        printf("  the last sixth of %g s of load\n", opts->held_seconds);
    if (r->kind == ROW_DELIVERY) {
        second = "no database";
    } else if (r->kind == ROW_TEN) {
        second = "all good/s";
    } else if (!is_beside_raw(r)) {
        second = r->kind == ROW_BALLAST ? "without/s" : "undisturbed";
        more = "   raw's ratio";
    }
    printf("  %-58s %12s %12s %7s %12s%s\n", rate_title(r), "pawl/s", second, "ratio", "bar", more);
}

static void print_timer(const row *r, const options *opts)
{
    char pending[32];

    printf("  %-45s %12s %8.3f ms %8.3f ms %8.3f ms", r->text,
           grouped((double)timer_pending(r, opts), pending, sizeof pending), r->p50_ms, r->p99_ms,
           r->max_ms);
    if (r->bar > 0)
        printf("  %g ms %s", r->bar, row_met_bar(r) ? "met" : "MISSED");
    putchar('\n');
}

/* How much longer it takes among many than alone; 0: that was not measured. */
static double among_many(const plan *p, size_t number)
{
    const row *r = &p->rows[number], *ten = number > 0 ? &p->rows[number - 1] : NULL;

    return r->many_jobs && ten && ten->kind == ROW_JOB && ten->target == r->target
               ? r->p50_ms / ten->p50_ms
               : 0;
}

static void print_job(const plan *p, size_t number, const options *opts)
{
    const row *r = &p->rows[number];
    double more = among_many(p, number);
    char jobs[32];

    printf("  %-33s %9s %8.3f ms %8.3f ms %8.3f ms %8.3f ms %7.2f", r->text,
           grouped((double)job_count(r, opts), jobs, sizeof jobs), r->p50_ms, r->p99_ms,
           r->raw_p50_ms, r->raw_p99_ms, r->pawl_paired);
    if (more > 0)
        printf("  %.2f times", more);
    putchar('\n');
}

static void print_ratio(const row *r)
{
    double ratio = row_ratio(r);

    if (ratio <= 0)
        printf(" %7s %12s", "-", "");
    else if (r->bar <= 0)
        printf(" %7.*f %12s", ratio < 0.1 ? 3 : 2, ratio, "");
    else
        printf(" %7.2f  %.1f %-7s", ratio, r->bar, ratio >= r->bar ? "met" : "MISSED");
    if (row_raw_ratio(r) > 0)
        printf(" %7.2f", row_raw_ratio(r));
}

void report_row(const plan *p, size_t number, const options *opts)
{
    const row *r = &p->rows[number];
    double second = is_beside_raw(r) ? r->raw_rate : r->pawl_reference;
    char first_text[32], second_text[32];

    report_progress(p, p->count);
    print_headings(r, number > 0 ? &p->rows[number - 1] : NULL, opts);
    if (r->kind == ROW_MEMORY) {
        printf("  %-58s %8ld KiB %8ld KiB\n", r->text, r->start_kib, r->peak_kib);
    } else if (r->kind == ROW_LATENCY || r->kind == ROW_IDLE) {
        report_worker_row(r, opts);
    } else if (r->kind == ROW_TIMER) {
        print_timer(r, opts);
    } else if (r->kind == ROW_JOB) {
        print_job(p, number, opts);
    } else {
        printf("  %-58s %12s %12s", r->text, grouped(r->pawl_rate, first_text, sizeof first_text),
               grouped(second, second_text, sizeof second_text));
        print_ratio(r);
        putchar('\n');
    }
    fflush(stdout);
}

/* ---- for machines ---- */

static void write_number(FILE *file, const char *name, double value)
{
    if (value > 0)
        fprintf(file, ", \"%s\": %.6g", name, value);
    else
        fprintf(file, ", \"%s\": null", name);
}

static void write_windows(FILE *file, const char *name, const double *windows)
{
    fprintf(file, ", \"%s\": [", name);
    for (int i = 0; i < WINDOWS; i++)
        fprintf(file, "%s%.6g", i == 0 ? "" : ", ", windows[i]);
    fputc(']', file);
}

static void write_row(FILE *file, const row *r, const options *opts)
{
    static const char *const measures[] = {"enqueue", "claim+ack", "ack+claim", "receive"};
    static const char *const kinds[] = {"raw",  "ballast", "held", "memory",   "worker", "latency",
                                        "idle", "timer",   "job",  "delivery", "ten"};
    static const char *const held[] = {"none", "snapshot", "writer"};
    double ratio = row_ratio(r);

    fprintf(file,
            "{\"id\": \"%s\", \"engine\": \"%s\", \"durability\": \"%s\", \"kind\": \"%s\", "
            "\"measure\": \"%s\", \"callers\": %d, \"batch\": %zu, \"topics\": %d, \"ballast\": "
            "%" PRId64 ", \"held\": \"%s\"",
            r->id, (*r->target->engine)->name, r->target->durability, kinds[r->kind],
            r->load.batch > 0 ? measures[r->load.kind] : "none", r->load.callers, r->load.batch,
            r->topics, r->kind == ROW_BALLAST ? 2 * opts->ballast : 0, held[r->disturbance]);
    write_number(file, "pawl_per_s", r->pawl_rate);
    write_number(file, "raw_per_s", r->raw_rate);
    write_number(file, "pawl_undisturbed_per_s", r->pawl_reference);
    write_number(file, "raw_undisturbed_per_s", r->raw_reference);
    write_number(file, "ratio", ratio);
    write_number(file, "raw_ratio", row_raw_ratio(r));
    write_number(file, "bar", r->bar);
    fprintf(file, ", \"met\": %s", !row_has_bar(r) ? "null" : (row_met_bar(r) ? "true" : "false"));
    report_worker_json(file, r, opts);
    if (r->kind == ROW_HELD) {
        write_windows(file, "pawl_windows", r->pawl_windows);
        write_windows(file, "raw_windows", r->raw_windows);
    }
    if (r->kind == ROW_MEMORY) {
        write_number(file, "start_kib", (double)r->start_kib);
        write_number(file, "peak_kib", (double)r->peak_kib);
    }
    if (r->kind == ROW_TIMER) {
        write_number(file, "pending", (double)timer_pending(r, opts));
        write_number(file, "p50_ms", r->p50_ms);
        write_number(file, "p99_ms", r->p99_ms);
        write_number(file, "max_ms", r->max_ms);
    }
    if (r->kind == ROW_JOB) {
        write_number(file, "jobs", (double)job_count(r, opts));
        write_number(file, "p50_ms", r->p50_ms);
        write_number(file, "p99_ms", r->p99_ms);
        write_number(file, "max_ms", r->max_ms);
        write_number(file, "raw_p50_ms", r->raw_p50_ms);
        write_number(file, "raw_p99_ms", r->raw_p99_ms);
    }
    fputc('}', file);
}

static void write_json(const plan *p, const options *opts)
{
    FILE *file = fopen(opts->json, "w");

    if (!file)
        die("%s cannot be written", opts->json);
    for (size_t i = 0; i < p->count; i++) {
        fputs(i == 0 ? "[" : ",\n ", file);
        write_row(file, &p->rows[i], opts);
    }
    fputs(p->count == 0 ? "[]\n" : "]\n", file);
    if (fclose(file) != 0)
        die("%s could not be written", opts->json);
}

void report_end(const plan *p, const options *opts)
{
    int bars = 0, met = 0;

    for (size_t i = 0; i < p->count; i++) {
        const row *r = &p->rows[i];

        report_worker_bars(r, &bars, &met);
        if (!row_has_bar(r))
            continue;
        bars++;
        met += row_met_bar(r);
    }
    if (bars > 0)
        printf("\n%d of %d bars met\n", met, bars);
    if (opts->json)
        write_json(p, opts);
}
