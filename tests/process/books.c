/* tests/process/books.c - whether what was sent, done and written by the application agree. */
#include "scene.h"

/* NULL, or that a sender's number is not in the application's table. */
static const char *find_missing(scene *s, const scene_sender *sender)
{
    int64_t there = fixture_count(s->f,
                                  "SELECT count(DISTINCT value) FROM {effect}"
                                  " WHERE value >= %ld AND value < %ld",
                                  sender->first, sender->first + sender->stored);

    if (there == sender->stored)
        return NULL;
    return test_note("lost: of %ld numbers that were stored, %lld have their row", sender->stored,
                     (long long)there);
}

static const char *find_double(scene *s)
{
    const char *value = fixture_text(s->f, "SELECT value FROM {effect} GROUP BY value"
                                           " HAVING count(*) > 1 ORDER BY value LIMIT 1");

    if (!value)
        return NULL;
    return test_note(
        "doubled: the row of number %s is there %lld times", value,
        (long long)fixture_count(s->f, "SELECT count(*) FROM {effect} WHERE value = %s", value));
}

const char *scene_audit(scene *s)
{
    const char *wrong = find_double(s);
    long stored = scene_stored(s);

    for (int i = 0; !wrong && i < SCENE_SENDERS; i++)
        wrong = find_missing(s, &s->senders[i]);
    if (wrong)
        return wrong;
    int64_t rows = fixture_count(s->f, "SELECT count(*) FROM {effect}");
    int64_t messages = fixture_count(s->f, "SELECT count(*) FROM {message}");
    int64_t done = fixture_count(s->f, "SELECT count(*) FROM {message} WHERE state = %d",
                                 (int)PAWL_STATE_DONE);
    if (rows != stored || messages != stored || done != stored)
        return test_note("%ld numbers were stored: there are %lld messages, %lld done, %lld rows",
                         stored, (long long)messages, (long long)done, (long long)rows);
    wrong = scene_check_nothing_leased(s);
    return wrong ? wrong : kit_check_note(s->f);
}
