/* tests/harness/helper.h - helpers shared by the programs that tests start. */
#ifndef PAWL_TEST_HELPER_H
#define PAWL_TEST_HELPER_H

#include <pawl/pawl.h>

#define HELPER_TOPIC "process"

/*
 * Every one of them is started as PROGRAM URL SCHEMA PREFIX ...; an empty SCHEMA or PREFIX is the
 * default. It says what it did on its standard output, a line each, and is killed with the program
 * that started it. NULL: it has said why, and should end.
 */
pawl_store *helper_open(char **arguments);
/* The same with options of its own. */
pawl_store *helper_open_with(char **arguments, pawl_store_options opts);

/* Memory that the test shares with its helpers, in a file of this size; NULL: it cannot be had. */
void *helper_map(const char *path, size_t size);

/* One line, whole, at once. Any thread. */
void helper_say(const char *format, ...) PAWL_PRINTF(1, 2);
/* To standard error; always 1, which is the exit status. */
int helper_complain(const char *what, const pawl_error *err);
/* The clock that all processes of a machine share. */
int64_t helper_clock_ms(void);

/* The value of `argument` if it is "name=VALUE"; else NULL. */
const char *helper_option(const char *argument, const char *name);

#endif
