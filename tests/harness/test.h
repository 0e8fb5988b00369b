/* tests/harness/test.h - tests that register themselves, on top of cmocka. */
#ifndef PAWL_TEST_H
#define PAWL_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <pawl/pawl.h>

#include "activity.h"
#include "test_environment.h"

#ifdef __clang_analyzer__ /* which does not see that cmocka's leave the test */
#undef assert_non_null
#define assert_non_null(pointer) ((pointer) ? (void)0 : abort())
#endif

#undef fail /* test_fail() says why */
#undef skip /* a case that cannot run is not registered: PAWL_TEST_ON */

/*
 * A test is one definition; the executable's main() comes with the harness:
 *
 *     PAWL_TEST(an_empty_topic_is_refused)
 *     {
 *         ...
 *         assert_status(PAWL_E_INVALID, pawl_outbox_enqueue(store, &message, NULL, &err), &err);
 *     }
 *
 * Tests run in the order in which they are written, in one process, each reported as one TAP line.
 * `program --list` names them, `program --only TEXT` runs those whose name contains TEXT.
 * cmocka's assertions leave the test by longjmp(): use them on the test's own thread only.
 */
#define PAWL_TEST(test_name) TEST_DEFINE(NULL, test_name)

/*
 * A case that exists in one environment only, because it is about something that the others do not
 * have. Elsewhere it is not listed, run or reported. No case skips itself: a skipped case is a
 * failed one (scripts/test-report).
 *
 *     PAWL_TEST_ON(postgres, a_sender_may_send_and_nothing_else) { ... }
 *
 *   sqlite, postgres   that engine
 *   postgres_direct    PostgreSQL without a pooler before it
 *   one_engine         the first engine that was built: the case does not depend on the engine,
 *                      so once is enough
 *
 * Any function `bool test_on_WORD(void)` adds a word. tests/find-programs reads these lines: a
 * program whose cases are all for one engine is not run on the other.
 */
#define PAWL_TEST_ON(environment, test_name) TEST_DEFINE(test_on_##environment, test_name)

#define TEST_DEFINE(test_exists, test_name)                                                        \
    static void test_name(void);                                                                   \
    static test_case test_name##_case = {#test_name, test_name, test_exists, NULL};                \
    __attribute__((constructor)) static void test_name##_register(void)                            \
    {                                                                                              \
        test_register(&test_name##_case);                                                          \
    }                                                                                              \
    static void test_name(void)

typedef struct test_case {
    const char *name;
    void (*run)(void);
    bool (*exists)(void); /* NULL: everywhere */
    struct test_case *next;
} test_case;

void test_register(test_case *test);

/* PAWL_TEST_ENGINE must be set: they end the program if it is not. */
bool test_on_sqlite(void);
bool test_on_postgres(void);
bool test_on_postgres_direct(void);
bool test_on_one_engine(void);

/*
 * Run `clean_up(argument)` when the test ends, however it ends. Last in, first out.
 * The test's functions have returned by then: `argument` must not be one of their variables.
 * test_defer_cancel() takes the newest entry with this argument back.
 */
void test_defer(void (*clean_up)(void *argument), void *argument);
void test_defer_cancel(void *argument);

/* The call must have returned PAWL_OK; otherwise the test fails with its status and message. */
#define assert_ok(call, error)                                                                     \
    test_assert_status(PAWL_OK, (call), (error), #call, __FILE__, __LINE__)
/* The call must have returned exactly `expected`, and must have filled *error the same way. */
#define assert_status(expected, call, error)                                                       \
    test_assert_status((expected), (call), (error), #call, __FILE__, __LINE__)
/* `error` is evaluated after `call`, and may be NULL. */
void test_assert_status(pawl_status expected, pawl_status actual, const pawl_error *error,
                        const char *call, const char *file, int line);

/* End the test as failed with a sentence of its own. */
#define test_fail(...) test_fail_at(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void test_fail_at(const char *file, int line, const char *format, ...) PAWL_PRINTF(3, 4);

/*
 * Run `body` on `count` threads (at most 64) at once and wait for all. A body returns NULL, or what
 * went wrong as a string that outlives it (see test_note); then the test fails with the first one.
 * All threads start together. Bodies must not use cmocka's assertions.
 */
typedef const char *(*test_thread_body)(void *context, size_t index);
#define test_threads(count, body, context)                                                         \
    test_threads_at(__FILE__, __LINE__, (count), (body), (context))
void test_threads_at(const char *file, int line, size_t count, test_thread_body body,
                     void *context);

/* Format a message that is valid until the test ends. Any thread. */
const char *test_note(const char *format, ...) PAWL_PRINTF(1, 2);

/* A fresh directory that is removed with everything in it when the test ends. Any number. */
const char *test_directory(void);

#endif
