/* include/pawl/lease.h - exclusive, expiring ownership of a named thing.
 *
 * One holder at a time, by the database's clock. Every take draws a fencing token that is greater
 * than all before it in the store, also those of claimed messages. The holder renews; who does not
 * (because it died, or could not reach the database) loses the lease when it ends.
 *
 * A program that holds a lease may be stopped for any time between looking and doing, so knowing
 * that it held the lease a moment ago proves nothing. What does is pawl_lease_guard() in the
 * transaction that does it, or the token given to whatever must refuse an older one.
 *
 * lease_runner.h renews by itself and says when the lease is lost.
 */
#ifndef PAWL_LEASE_H
#define PAWL_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/clock.h>
#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/id.h>
#include <pawl/maintenance.h>
#include <pawl/store.h>
#include <pawl/tx.h>

PAWL_BEGIN_DECLS

#define PAWL_LEASE_NAME_MAX 255 /* characters of UTF-8, at least 1; case matters */
#define PAWL_LEASE_TTL_MIN_MS 1000
#define PAWL_LEASE_TTL_MAX_MS 86400000
#define PAWL_LEASE_TTL_MS 30000 /* a good one for a start */

/* What the database said to the holder. */
typedef struct pawl_lease_grant {
    int64_t fence;        /* the token */
    pawl_wall now;        /* by the database's clock, when it decided */
    pawl_wall expires_at; /* by the same clock; after a release that is `now` */
    bool taken;           /* a new take with a new token; false: extended, or given back */
} pawl_lease_grant;

/**
 * Take the lease `name` for `ttl_ms`, or learn that somebody else holds it. An owner that holds it
 * already extends it (never shortens it) and keeps the token. A lease that has run out is taken
 * anew, also by the same owner.
 *
 * Ownership: everything is copied. `owner_name` is for people: NULL is "host:pid".
 * Threads:   any.
 * Blocks:    one round trip, bounded by the store's timeout. PostgreSQL: a take waits for
 *            transactions that have passed pawl_lease_guard() with the token before.
 * Durable:   on PAWL_OK it is committed. PAWL_E_IN_DOUBT: ask again with the same owner.
 * Errors:    PAWL_E_HELD (the message says by whom and for how long), PAWL_E_INVALID (name, zero
 *            owner, ttl_ms outside PAWL_LEASE_TTL_MIN_MS .. _MAX_MS), PAWL_E_BUSY, PAWL_E_TIMEOUT,
 *            PAWL_E_IN_DOUBT, PAWL_E_UNAVAILABLE.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_acquire(pawl_store *store, const char *name,
                                                        pawl_owner owner, int64_t ttl_ms,
                                                        const char *owner_name,
                                                        pawl_lease_grant *ret_grant,
                                                        pawl_error *err);

/*
 * Still at it: the lease ends `ttl_ms` from now, or later if it already did. PAWL_E_LOST: it is
 * not held under this token any more: it ran out, was given back or taken away. One that ran out is
 * not revived, even if nobody has taken it. Saying it twice is fine, also after PAWL_E_IN_DOUBT.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_renew(pawl_store *store, const char *name,
                                                      pawl_owner owner, int64_t fence,
                                                      int64_t ttl_ms, pawl_lease_grant *ret_grant,
                                                      pawl_error *err);

/*
 * Give it back: anybody may take it from now on. PAWL_E_LOST if it was not held under this token
 * any more, which is also what a second release answers, for example after PAWL_E_IN_DOUBT.
 * `ret_grant` may be NULL.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_release(pawl_store *store, const char *name,
                                                        pawl_owner owner, int64_t fence,
                                                        pawl_lease_grant *ret_grant,
                                                        pawl_error *err);

/**
 * Go on only if the lease is held under this token, by the database's clock, now. On PAWL_OK nobody
 * else gets the lease before the transaction has ended, also if the lease runs out meanwhile: what
 * the transaction writes is committed before the next token is given out. The holder can renew at
 * the same time. On any other answer the application rolls its transaction back; one of
 * pawl_message_begin() has been rolled back.
 *
 * Ownership: `tx` stays the caller's.
 * Threads:   the transaction's.
 * Blocks:    one round trip. SQLite: until the transaction has the write lock, if it began without.
 *            Whoever takes the lease next waits for the end of the transaction: keep it short.
 * Durable:   nothing is written that others see.
 * Errors:    PAWL_E_LOST, PAWL_E_INVALID, PAWL_E_MISUSE (the transaction has ended),
 *            PAWL_E_TX_RESTART (SQLite: begin with BEGIN IMMEDIATE), PAWL_E_SERIALIZATION
 *            (PostgreSQL above READ COMMITTED: the lease changed, if only by a renewal, since the
 *            transaction began), PAWL_E_TIMEOUT, PAWL_E_UNAVAILABLE.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_guard(pawl_tx *tx, const char *name, int64_t fence,
                                                      pawl_error *err);

/* ---- looking after leases ---- */

/* A lease that somebody holds, or the last one who did. */
typedef struct pawl_lease {
    const char *name;
    bool held;        /* by the database's clock, when it was read */
    pawl_owner owner; /* the holder, or the last one */
    const char *owner_name;
    int64_t fence;
    pawl_wall taken_at;
    pawl_wall renewed_at;
    pawl_wall expires_at;
    pawl_wall released_at; /* given back, or taken away; PAWL_NEVER: it was not */
    /* The last time that it was taken away by force; kept when others hold it later. */
    pawl_wall forced_at; /* PAWL_NEVER: it never was */
    const char *forced_by;
    const char *forced_reason; /* may be NULL */
    int64_t forced_fence;      /* the token of whom it was taken from */
} pawl_lease;

/* An owned list of leases. */
typedef struct pawl_leases pawl_leases;
PAWL_API size_t pawl_leases_count(const pawl_leases *leases);
/* Borrowed from the list; NULL when `index` is out of range. */
PAWL_API const pawl_lease *pawl_leases_at(const pawl_leases *leases, size_t index);
/* The database's clock when the list was read; PAWL_NEVER if it is empty. */
PAWL_API pawl_wall pawl_leases_now(const pawl_leases *leases);
PAWL_API void pawl_leases_free(pawl_leases *leases); /* NULL is fine */

/* A list of one. PAWL_E_NOT_FOUND: nobody has held it lately. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_get(pawl_store *store, const char *name,
                                                    pawl_leases **ret_one, pawl_error *err);

typedef struct pawl_lease_filter {
    size_t size;       /* set by PAWL_LEASE_FILTER_INIT, never by hand */
    const char *after; /* keyset page: names behind this one; NULL: from the first */
    int limit;         /* 0: 100; at most 10000 */
    bool only_held;
} pawl_lease_filter;
#define PAWL_LEASE_FILTER_INIT                                                                     \
    {                                                                                              \
        sizeof(pawl_lease_filter), NULL, 0, false                                                  \
    }
/*
 * By name, byte by byte. A list that is as long as the limit may have a next page: `after` is its
 * last name. `filter` may be NULL.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_list(pawl_store *store,
                                                     const pawl_lease_filter *filter,
                                                     pawl_leases **ret_leases, pawl_error *err);

typedef struct pawl_lease_force_options {
    size_t size;        /* set by PAWL_LEASE_FORCE_OPTIONS_INIT, never by hand */
    const char *by;     /* who does it; NULL: "host:pid"; 1 to 255 characters */
    const char *reason; /* kept and shown; may be NULL; cut to 4 KB */
    int64_t fence;      /* only from the holder of this token; 0: whoever it is */
} pawl_lease_force_options;
#define PAWL_LEASE_FORCE_OPTIONS_INIT                                                              \
    {                                                                                              \
        sizeof(pawl_lease_force_options), NULL, NULL, 0                                            \
    }
/*
 * Take the lease away from its holder, who learns of it when it next renews, or at the guard.
 * *ret_one (may be NULL) is the lease afterwards; who did it, when and why is kept with it.
 * PAWL_E_NOT_FOUND: there is no such lease. PAWL_E_LOST: nobody holds it, or not under this token.
 * Transactions that have passed the guard before may still commit; the next take waits for them.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_force_release(pawl_store *store, const char *name,
                                                              const pawl_lease_force_options *opts,
                                                              pawl_leases **ret_one,
                                                              pawl_error *err);

/*
 * Forget leases that ended longer than `keep_ms` ago; 1000 at most in one call, and *ret_scan (may
 * be NULL) says whether there may be more. Tokens never go back, whatever is forgotten. Workers do
 * it with their chore PAWL_CHORE_RETAIN.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_clean(pawl_store *store, int64_t keep_ms,
                                                      size_t *ret_removed, pawl_scan *ret_scan,
                                                      pawl_error *err);

PAWL_END_DECLS

#endif
