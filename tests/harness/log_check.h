/* tests/harness/log_check.h - whatever the sentence of a log record names is a field of it. */
#ifndef PAWL_TEST_LOG_CHECK_H
#define PAWL_TEST_LOG_CHECK_H

#include <pawl/log.h>

/*
 * The first word of the message that looks like a value (an id, a number, a text in quotes) and is
 * in no field of the record; NULL: there is none. It is allocated: free() it. A time span after
 * "in" or "about" is a rounded field, and commands of the program are quoted, too.
 */
char *log_check(const pawl_log_record *record);

#endif
