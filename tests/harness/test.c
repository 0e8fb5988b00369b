/* tests/harness/test.c - the runner: registered tests, clean-ups, threads, TAP output. */
#include "test.h"

#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 64

static test_case *first_case;
static test_case **last_case = &first_case;

struct deferred {
    void (*clean_up)(void *argument);
    void *argument;
    struct deferred *next;
};
static struct deferred *deferred;  /* newest first */
static const char *stack_of_cases; /* where the stack begins that ends with a case */

/* cmocka catches these, which would hide a sanitizer's report and the core file of a crash. */
static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
#define CRASH_SIGNAL_COUNT (sizeof crash_signals / sizeof crash_signals[0])
static struct sigaction crash_handlers[CRASH_SIGNAL_COUNT];

void test_register(test_case *test)
{
    *last_case = test;
    last_case = &test->next;
}

static bool engine_is(const char *name)
{
    const char *engine = getenv("PAWL_TEST_ENGINE");

    if (!engine || (strcmp(engine, "sqlite") != 0 && strcmp(engine, "postgres") != 0)) {
        fprintf(stderr, "PAWL_TEST_ENGINE must be sqlite or postgres\n");
        exit(64);
    }
    return strcmp(engine, name) == 0;
}

bool test_on_sqlite(void)
{
    return engine_is("sqlite");
}

bool test_on_postgres(void)
{
    return engine_is("postgres");
}

bool test_on_postgres_direct(void)
{
    return test_on_postgres() && !getenv("PAWL_TEST_POSTGRES_DIRECT");
}

bool test_on_one_engine(void)
{
    return engine_is(PAWL_TEST_SQLITE ? "sqlite" : "postgres");
}

/* Taken from the list before the clean-up runs, so that it runs once. */
static bool ends_with_case(const void *argument)
{
    const char *here = __builtin_frame_address(0);

    return here < (const char *)argument && (const char *)argument < stack_of_cases;
}

void test_defer(void (*clean_up)(void *argument), void *argument)
{
    struct deferred *entry = malloc(sizeof *entry);

    if (ends_with_case(argument)) {
        free(entry);
        test_fail(
            "a clean-up was given a variable of a function; its memory must outlive the test");
    }
    if (!entry)
        abort();
    *entry = (struct deferred){clean_up, argument, deferred};
    deferred = entry;
}

void test_defer_cancel(void *argument)
{
    for (struct deferred **slot = &deferred; *slot; slot = &(*slot)->next) {
        struct deferred *entry = *slot;

        if (entry->argument != argument)
            continue;
        *slot = entry->next;
        free(entry);
        return;
    }
}

/* TAP readers take lines that begin with '#' as remarks on the test that follows. */
static void print_remark(const char *format, va_list arguments) PAWL_PRINTF(1, 0);
static void print_remark(const char *format, va_list arguments)
{
    char text[2048];
    char *rest = text;
    char *line;

    vsnprintf(text, sizeof text, format, arguments);
    while ((line = strsep(&rest, "\n")))
        printf("# %s\n", line);
    fflush(stdout);
}

void test_fail_at(const char *file, int line, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_remark(format, arguments);
    va_end(arguments);
    _fail(file, line);
    abort(); /* _fail leaves by longjmp, but is not declared so */
}

void test_assert_status(pawl_status expected, pawl_status actual, const pawl_error *error,
                        const char *call, const char *file, int line)
{
    if (actual != expected)
        test_fail_at(file, line, "%s\nanswered %s instead of %s: %s", call,
                     pawl_status_name(actual), pawl_status_name(expected),
                     error && actual != PAWL_OK ? error->message : "no message");
    if (actual == PAWL_OK || !error)
        return;
    if (error->status != actual)
        test_fail_at(file, line, "%s\nanswered %s but filled the error with %s", call,
                     pawl_status_name(actual), pawl_status_name(error->status));
    if (!error->message[0])
        test_fail_at(file, line, "%s\nanswered %s without a message", call,
                     pawl_status_name(actual));
}

/* Notes are valid until the test ends; any thread may make them. */
struct note {
    struct note *next;
    char *text;
};
static struct note *notes;
static pthread_mutex_t notes_lock = PTHREAD_MUTEX_INITIALIZER;

const char *test_note(const char *format, ...)
{
    struct note *note = malloc(sizeof *note);
    va_list arguments;

    if (!note)
        abort();
    va_start(arguments, format);
    if (vasprintf(&note->text, format, arguments) < 0)
        abort();
    va_end(arguments);
    pthread_mutex_lock(&notes_lock);
    note->next = notes;
    notes = note;
    pthread_mutex_unlock(&notes_lock);
    return note->text;
}

static void free_notes(void)
{
    while (notes) {
        struct note *next = notes->next;

        free(notes->text);
        free(notes);
        notes = next;
    }
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_directory(void *path)
{
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(path);
}

const char *test_directory(void)
{
    const char *parent = getenv("TMPDIR");
    char *path = NULL;

    if (asprintf(&path, "%s/pawl-test-XXXXXX", parent && *parent ? parent : "/tmp") < 0)
        test_fail("out of memory");
    if (!mkdtemp(path)) {
        free(path);
        test_fail("cannot make a temporary directory: %s", strerror(errno));
    }
    test_defer(remove_directory, path);
    return path;
}

struct thread_run {
    pthread_barrier_t *start;
    test_thread_body body;
    void *context;
    size_t index;
    const char *failure;
};

static void *run_thread(void *argument)
{
    struct thread_run *run = argument;

    pthread_barrier_wait(run->start);
    run->failure = run->body(run->context, run->index);
    return NULL;
}

void test_threads_at(const char *file, int line, size_t count, test_thread_body body, void *context)
{
    struct thread_run runs[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    pthread_barrier_t start;

    if (count == 0 || count > THREADS_MAX)
        test_fail_at(file, line, "%zu threads; 1 to %d are possible", count, THREADS_MAX);
    pthread_barrier_init(&start, NULL, (unsigned)count);
    for (size_t i = 0; i < count; i++) {
        runs[i] = (struct thread_run){&start, body, context, i, NULL};
        if (pthread_create(&threads[i], NULL, run_thread, &runs[i]) != 0)
            abort(); /* the started ones wait at the barrier without end: there is no way back */
    }
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);
    for (size_t i = 0; i < count; i++) {
        if (runs[i].failure)
            test_fail_at(file, line, "thread %zu: %s", i, runs[i].failure);
    }
}

static void run_case(void **state)
{
    test_case *test = *state;

    stack_of_cases = __builtin_frame_address(0);
    for (size_t i = 0; i < CRASH_SIGNAL_COUNT; i++)
        sigaction(crash_signals[i], &crash_handlers[i], NULL);
    test->run();
}

static int end_case(void **state)
{
    (void)state;
    while (deferred) {
        struct deferred entry = *deferred;

        free(deferred);
        deferred = entry.next;
        entry.clean_up(entry.argument);
    }
    free_notes();
    return 0;
}

/* Only the cases that exist in this environment stay in the list. */
static void remove_cases_of_other_environments(void)
{
    test_case **slot = &first_case;

    while (*slot) {
        if ((*slot)->exists && !(*slot)->exists())
            *slot = (*slot)->next;
        else
            slot = &(*slot)->next;
    }
}

static int run_cases(const char *only)
{
    struct CMUnitTest *tests = NULL;
    size_t count = 0;
    int failed;

    if (!first_case) {
        fprintf(stderr, "no case of this program exists in this environment"
                        " (PAWL_TEST_ENGINE, PAWL_TEST_TRANSPORT): it should not be run here\n");
        return 1;
    }
    for (test_case *test = first_case; test; test = test->next)
        count += !only || strstr(test->name, only);
    if (count == 0) {
        fprintf(stderr, "no test has '%s' in its name; --list names them\n", only ? only : "");
        return 1;
    }
    tests = calloc(count, sizeof *tests);
    if (!tests)
        abort();
    count = 0;
    for (test_case *test = first_case; test; test = test->next) {
        if (only && !strstr(test->name, only))
            continue;
        tests[count++] = (struct CMUnitTest){test->name, run_case, NULL, end_case, test};
    }
    cmocka_set_message_output(CM_OUTPUT_TAP);
    failed = _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
    free(tests);
    return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < CRASH_SIGNAL_COUNT; i++)
        sigaction(crash_signals[i], NULL, &crash_handlers[i]);
    remove_cases_of_other_environments();
    if (argc == 1)
        return run_cases(NULL);
    if (argc == 3 && strcmp(argv[1], "--only") == 0)
        return run_cases(argv[2]);
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (const test_case *test = first_case; test; test = test->next)
            puts(test->name);
        return 0;
    }
    fprintf(stderr, "usage: %s [--list | --only TEXT]\n", argv[0]);
    return 64;
}
