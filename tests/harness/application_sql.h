/* tests/harness/application_sql.h - an application's own rows, beside pawl's. */
#ifndef PAWL_TEST_APPLICATION_SQL_H
#define PAWL_TEST_APPLICATION_SQL_H

#include <stdbool.h>

#include <pawl/pawl.h>

/*
 * A statement on the connection that the transaction is on, whichever engine's. False: it was
 * refused.
 */
bool application_sql(pawl_tx *tx, const char *sql);
/* One row into TABLE(value). Without a constraint on it, what is written twice is there twice. */
bool application_insert(pawl_tx *tx, const char *table, long value);
/* Deliberately wrong: the same in a transaction of its own, which nothing guards. */
bool application_insert_outside(const char *url, const char *table, long value);

#endif
