/* tests/leases/lease_history.c - random histories of leases on a real store, beside the model. */
#include "lease_history.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "queue_fixture.h"
#include "prng.h"

static const char *const names[MODEL_NAMES] = {"left", "right"};
static const char *const deed_names[DEED_COUNT] = {
    "acquire", "renew", "release", "force", "guard", "clean", "claim", "look", "clock", "reopen"};

/* ---- dice ---- */

static int dice(lease_history *p, int sides)
{
    return (int)prng_below(&p->random, (size_t)sides);
}

static void note_deed(lease_history *p, const char *format, ...) PAWL_PRINTF(2, 3);
static void note_deed(lease_history *p, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int size = vsnprintf(p->log + p->log_used, sizeof p->log - p->log_used, format, arguments);
    va_end(arguments);
    p->log_used += (size_t)size;
    if (p->log_used >= sizeof p->log)
        p->log_used = sizeof p->log - 1;
}

static int64_t some_ttl_ms(lease_history *p)
{
    static const int64_t ttls_ms[] = {1000, 5000, 30000, 30000, 3600000};

    return ttls_ms[dice(p, 5)];
}

/* Mostly what the owner believes; else another's, an older one, or one without an owner. */
static int64_t some_token(lease_history *p, int name, int owner)
{
    switch (dice(p, 8)) {
    case 0:
        return p->m.beliefs[name][dice(p, MODEL_OWNERS)].fence;
    case 1:
        return p->m.beliefs[1 - name][owner].fence;
    case 2:
        return p->m.highest + 1;
    default:
        return p->m.beliefs[name][owner].fence;
    }
}

/* ---- deeds ---- */

static pawl_store *some_store(lease_history *p)
{
    return p->stores[dice(p, 2)];
}

/* Of the broken store that does not check it. */
static int64_t token_for(lease_history *p, deed d, int name, int64_t token)
{
    if (broken_store_is(&p->broken, (int)d) && p->broken.how->ignore_fence)
        return fixture_count(p->f, "SELECT fence FROM {lease} WHERE name = '%s'", names[name]);
    return token;
}

static void do_acquire(lease_history *p, int name, int owner)
{
    pawl_store *store = some_store(p);
    int64_t ttl_ms = some_ttl_ms(p);
    int times = dice(p, 6) == 0 ? 2 : 1; /* repeated if its result was lost */

    for (int i = 0; i < times; i++) {
        pawl_lease_grant grant = {0};
        pawl_status st = pawl_lease_acquire(store, names[name], queue_owner(owner + 1), ttl_ms,
                                            NULL, &grant, NULL);
        note_deed(p, " %s by %d for %" PRId64 " ms: %s %" PRId64, names[name], owner, ttl_ms,
                  pawl_status_name(st), grant.fence);
        model_acquired(&p->m, name, owner, ttl_ms, st, &grant, &p->wrong);
        p->covered.taken += st == PAWL_OK && grant.taken;
        p->covered.extended += st == PAWL_OK && !grant.taken;
        p->covered.leased += st == PAWL_E_HELD;
    }
}

static void do_renew(lease_history *p, int name, int owner)
{
    int64_t ttl_ms = some_ttl_ms(p), fence = some_token(p, name, owner);
    pawl_lease_grant grant = {0};
    pawl_status st = pawl_lease_renew(some_store(p), names[name], queue_owner(owner + 1),
                                      token_for(p, DEED_RENEW, name, fence), ttl_ms, &grant, NULL);

    note_deed(p, " %s by %d, token %" PRId64 " for %" PRId64 " ms: %s", names[name], owner, fence,
              ttl_ms, pawl_status_name(st));
    model_renewed(&p->m, name, owner, fence, ttl_ms, st, &grant, &p->wrong);
    p->covered.lost += st == PAWL_E_LOST;
}

static void do_release(lease_history *p, int name, int owner)
{
    int64_t fence = some_token(p, name, owner);
    pawl_status st = pawl_lease_release(some_store(p), names[name], queue_owner(owner + 1),
                                        token_for(p, DEED_RELEASE, name, fence), NULL, NULL);

    note_deed(p, " %s by %d, token %" PRId64 ": %s", names[name], owner, fence,
              pawl_status_name(st));
    model_released(&p->m, name, owner, fence, st, &p->wrong);
}

static void do_force(lease_history *p, int name, int owner)
{
    pawl_lease_force_options options = PAWL_LEASE_FORCE_OPTIONS_INIT;

    options.fence = dice(p, 2) ? 0 : some_token(p, name, owner);
    pawl_status st = pawl_lease_force_release(some_store(p), names[name], &options, NULL, NULL);
    note_deed(p, " %s, token %" PRId64 ": %s", names[name], options.fence, pawl_status_name(st));
    model_forced(&p->m, name, options.fence, st, &p->wrong);
}

static void do_guard(lease_history *p, int name, int owner)
{
    int64_t fence = some_token(p, name, owner);

    if (fence <= 0)
        return;
    pawl_tx *tx = fixture_tx_begin(p->f, 0);
    pawl_status st = pawl_lease_guard(tx, names[name], token_for(p, DEED_GUARD, name, fence), NULL);
    if (st == PAWL_OK)
        fixture_tx_commit(p->f, 0);
    else
        fixture_tx_rollback(p->f, 0);
    note_deed(p, " %s, token %" PRId64 ": %s", names[name], fence, pawl_status_name(st));
    model_guarded(&p->m, name, fence, st, &p->wrong);
    p->covered.passed += st == PAWL_OK;
    p->covered.stale += st == PAWL_E_LOST;
}

static void do_clean(lease_history *p)
{
    int64_t keep_ms = dice(p, 2) ? 0 : 60000;
    size_t removed = 0;

    if (pawl_lease_clean(some_store(p), keep_ms, &removed, NULL, NULL) != PAWL_OK)
        finding_say(&p->wrong, "clean failed");
    note_deed(p, " %" PRId64 " ms: %zu", keep_ms, removed);
    model_cleaned(&p->m, keep_ms, removed, &p->wrong);
}

static void do_claim(lease_history *p)
{
    pawl_messages *list = NULL;
    pawl_message_spec message = queue_message("t", "x");
    pawl_store *store = some_store(p);

    if (pawl_outbox_enqueue(store, &message, NULL, NULL) != PAWL_OK ||
        pawl_queue_claim(store, queue_owner(9), MINUTE_MS, 10, NULL, &list, NULL) != PAWL_OK)
        finding_say(&p->wrong, "a message could not be sent and claimed");
    else if (pawl_messages_count(list) > 0)
        model_claimed(&p->m, pawl_message_fence(pawl_messages_at(list, 0)), &p->wrong);
    pawl_messages_free(list);
}

static void do_look(lease_history *p, int name)
{
    pawl_leases *one = NULL;
    pawl_status st = pawl_lease_get(some_store(p), names[name], &one, NULL);

    if (st != PAWL_OK && st != PAWL_E_NOT_FOUND)
        finding_say(&p->wrong, "get answered %s", pawl_status_name(st));
    note_deed(p, " %s", names[name]);
    model_check_read(&p->m, name, pawl_leases_at(one, 0), &p->wrong);
    pawl_leases_free(one);
}

/* To the end of a lease, a microsecond before, a little on, by a day, or back. */
static void do_clock(lease_history *p, int name)
{
    int64_t now_us = fixture_now(p->f).us, end_us = p->m.leases[name].expires_at;

    switch (dice(p, 6)) {
    case 0:
    case 1:
        now_us = end_us > now_us ? end_us : now_us + 1;
        break;
    case 2:
        now_us = end_us > now_us ? end_us - 1 : now_us;
        break;
    case 3:
        now_us += dice(p, 20000) * INT64_C(1000);
        break;
    case 4:
        now_us += DAY_MS * 1000;
        break;
    default:
        now_us -= dice(p, 40000) * INT64_C(1000);
        break;
    }
    note_deed(p, " to %" PRId64, now_us);
    fixture_set(p->f, (pawl_wall){now_us});
}

static void reopen_store(lease_history *p)
{
    fixture_reopen(p->f);
    p->stores[0] = fixture_store(p->f);
}

static void do_one(lease_history *p, deed d, int name, int owner)
{
    switch (d) {
    case DEED_ACQUIRE:
        do_acquire(p, name, owner);
        break;
    case DEED_RENEW:
        do_renew(p, name, owner);
        break;
    case DEED_RELEASE:
        do_release(p, name, owner);
        break;
    case DEED_FORCE:
        do_force(p, name, owner);
        break;
    case DEED_GUARD:
        do_guard(p, name, owner);
        break;
    case DEED_CLEAN:
        do_clean(p);
        break;
    case DEED_CLAIM:
        do_claim(p);
        break;
    case DEED_GET:
        do_look(p, name);
        break;
    case DEED_CLOCK:
        do_clock(p, name);
        break;
    default:
        reopen_store(p);
        break;
    }
}

/* ---- histories ---- */

void lease_history_init(lease_history *p, fixture *f, const broken *how)
{
    memset(p, 0, sizeof *p);
    p->f = f;
    p->stores[0] = fixture_store(f);
    p->stores[1] = fixture_another_store(f);
    broken_store_init(&p->broken, f, "lease", how);
}

static deed some_deed(lease_history *p)
{
    static const deed often[] = {DEED_ACQUIRE, DEED_ACQUIRE, DEED_ACQUIRE, DEED_ACQUIRE, DEED_RENEW,
                                 DEED_RENEW,   DEED_RENEW,   DEED_RELEASE, DEED_GUARD,   DEED_GUARD,
                                 DEED_GUARD,   DEED_CLOCK,   DEED_CLOCK,   DEED_CLOCK,   DEED_GET,
                                 DEED_FORCE,   DEED_CLEAN,   DEED_CLAIM};

    if (dice(p, 100) == 0)
        return DEED_REOPEN;
    return often[dice(p, (int)COUNT_OF(often))];
}

static void read_clock(lease_history *p)
{
    pawl_wall now;

    if (pawl_store_now(p->stores[1], &now, NULL) != PAWL_OK)
        finding_say(&p->wrong, "the clock cannot be read");
    else if (!fixture_is_postgres(p->f) && now.us < p->m.now)
        finding_say(&p->wrong, "SQLite's clock went back");
    else
        p->m.now = now.us;
}

/* SQLite's clock goes back as far as nothing was written down that is later. */
static void read_clock_again(lease_history *p)
{
    if (!fixture_is_postgres(p->f))
        p->m.now = 0;
    read_clock(p);
}

static void lease_history_deed(lease_history *p)
{
    deed d = some_deed(p);
    int name = dice(p, MODEL_NAMES), owner = dice(p, MODEL_OWNERS);

    note_deed(p, "; %s", deed_names[d]);
    broken_store_before(&p->broken, (int)d);
    do_one(p, d, name, owner);
    broken_store_after(&p->broken, (int)d);
    p->covered.done[d]++;
    if (d == DEED_CLOCK)
        read_clock_again(p);
    else
        read_clock(p);
}

bool lease_history_run(void *context, uint64_t seed, finding *wrong)
{
    lease_history *p = context;
    int64_t highest = p->m.highest;

    p->random = seed;
    p->wrong.found = false;
    p->log_used = 0;
    p->m = (model){.highest = highest, .forgets_time = fixture_is_postgres(p->f)};
    fixture_exec(p->f, "DELETE FROM {lease}");
    fixture_set(p->f, (pawl_wall){FIXTURE_START.us + (int64_t)(seed % 1000) * 1000000});
    read_clock_again(p);
    for (int i = 0; i < LEASE_DEEDS && !p->wrong.found; i++)
        lease_history_deed(p);
    *wrong = p->wrong;
    return !wrong->found;
}

void lease_history_report(void *context)
{
    printf("# %s\n", ((lease_history *)context)->log);
}
