/*
 * tests/harness/fixture_spare.c - PostgreSQL schemas of earlier tests, emptied and used again.
 *
 * Making and dropping a schema takes several times as long as most tests. A schema whose tables,
 * functions or rights a test has changed is not used again.
 */
#include "fixture_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

#define SPARES_MAX 4

typedef struct spare {
    char *names;
    char *looks; /* the result of schema_fingerprint.sql when it was new */
    bool real_clock;
} spare;

static spare spares[SPARES_MAX];
static size_t spare_count;
static pid_t owner; /* of the spares: not a process that this one has forked */
static const char *target;

static void drop_spares(void)
{
    char message[512], sql[128];
    handle *h = getpid() == owner ? handle_engine_postgres->open(target, message) : NULL;

    while (spare_count > 0) {
        spare *s = &spares[--spare_count];

        snprintf(sql, sizeof sql, "DROP SCHEMA %s CASCADE", s->names);
        if (h && !handle_engine_postgres->run(h, sql, NULL, message))
            printf("# schema %s stays behind: %s\n", s->names, message);
        free(s->names);
        free(s->looks);
    }
    if (h)
        handle_engine_postgres->close(h);
}

/* The fingerprint of the fixture's schema; NULL on failure. malloc'd. */
static char *describe_schema(fixture *f)
{
    const char *path = PAWL_TEST_HARNESS_DIR "/schema_fingerprint.sql";
    char message[512];
    char *looks = NULL;

    if (!f->engine->run(f->own, fixture_fill_names(f, fixture_read_file(path)), &looks, message))
        return NULL;
    return looks;
}

/* False: it could not be emptied. */
static bool empty(fixture *f, const char *looks)
{
    const char *path = PAWL_TEST_HARNESS_DIR "/empty_schema.sql";
    const char *script = fixture_fill_names(f, fixture_read_file(path));
    char message[512];

    return f->engine->run(f->own,
                          test_note("SELECT set_config('harness.newest', '%.*s', true),"
                                    " set_config('harness.sessions', '%s', true);%s",
                                    (int)strcspn(looks, " "), looks, f->names, script),
                          NULL, message);
}

bool fixture_spare_take(fixture *f)
{
    for (size_t i = 0; f->is_postgres && i < spare_count; i++) {
        spare taken = spares[i];

        if (taken.real_clock != f->real_clock)
            continue;
        spares[i] = spares[--spare_count];
        f->names = test_note("%s", taken.names);
        f->looks = taken.looks;
        free(taken.names);
        return true;
    }
    return false;
}

void fixture_spare_note(fixture *f)
{
    bool was_open = f->own != NULL;

    if (!f->is_postgres)
        return;
    fixture_own_handle(f);
    f->looks = describe_schema(f);
    if (!was_open) /* the test may be about to kill the server */
        fixture_reconnect(f);
}

bool fixture_spare_give(fixture *f)
{
    char message[512];

    if (!f->looks || spare_count == SPARES_MAX)
        return false;
    if (!f->own)
        f->own = f->engine->open(f->target, message);
    if (!f->own || !empty(f, f->looks))
        return false;
    char *looks = describe_schema(f);
    bool same = looks && strcmp(looks, f->looks) == 0;
    free(looks);
    if (!same)
        return false;
    if (!owner) {
        owner = getpid();
        target = getenv("PAWL_TEST_POSTGRES");
        atexit(drop_spares);
    }
    spares[spare_count++] = (spare){strdup(f->names), f->looks, f->real_clock};
    f->looks = NULL;
    return true;
}
