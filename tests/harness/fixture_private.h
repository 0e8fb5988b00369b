/* tests/harness/fixture_private.h - the structure of a fixture; for the harness's own files. */
#ifndef PAWL_TEST_FIXTURE_PRIVATE_H
#define PAWL_TEST_FIXTURE_PRIVATE_H

#include "fixture.h"
#include "handle.h"
#include "log_capture.h"

#define FIXTURE_STORES 16

struct fixture {
    const handle_engine *engine;
    bool is_postgres;
    bool real_clock;
    const char *url;
    const char *target; /* for the engine's own client: a path or a conninfo */
    const char *names;  /* table prefix or schema */
    char *looks;        /* of a schema that may be used again: see fixture_spare.c; else NULL */
    pawl_store_options store_options;
    pawl_store *stores[FIXTURE_STORES]; /* [0] is the fixture's own */
    handle *own;                        /* for plain SQL */
    handle *handles[FIXTURE_HANDLES];
    pawl_tx *txs[FIXTURE_HANDLES];
    log_capture log;
};

/* The text of a file, until the test ends. */
const char *fixture_read_file(const char *path);

/* Give the fixture a schema that an earlier test has left, as good as new. False: there is none. */
bool fixture_spare_take(fixture *f);
/* The fixture's schema is new: it may be used again if its fingerprint is the same then. */
void fixture_spare_note(fixture *f);
/*
 * The test has ended and closed everything but f->own: keep its schema for another one. False: it
 * has to be dropped. Asserts nothing.
 */
bool fixture_spare_give(fixture *f);

/* The connection for plain SQL, opened when first used. */
handle *fixture_own_handle(fixture *f);
/* The application's connection `which`, opened when first used. */
handle *fixture_handle(fixture *f, int which);
/* Run SQL that is already expanded; a refusal ends the test. The value is valid until it ends. */
const char *fixture_run(fixture *f, handle *h, const char *sql);
/*
 * `text` with the names that SQL files use replaced by the fixture's: a word that begins with
 * "pawl_" on SQLite, the whole word "pawl" on PostgreSQL. Valid until the test ends.
 */
const char *fixture_fill_names(const fixture *f, const char *text);

#endif
