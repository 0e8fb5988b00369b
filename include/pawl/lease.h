/* include/pawl/lease.h - leases: exclusive, expiring ownership of a name.
 *
 * A lease has one owner at a time, by the database's clock. Every acquisition gets a fencing token
 * that is greater than all earlier tokens in the store, including those of claimed messages. The
 * owner renews the lease; an owner that does not renew (because it died or could not reach the
 * database) loses it when it expires.
 *
 * A process may be paused for any length of time between checking a lease and acting on it, so
 * having owned the lease a moment ago proves nothing. To be safe, call pawl_lease_guard() in the
 * transaction that does the work, or pass the token to a system that rejects older tokens.
 *
 * lease_runner.h renews a lease automatically and reports when it is lost.
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
#include <pawl/page.h>
#include <pawl/store.h>
#include <pawl/tx.h>

PAWL_BEGIN_DECLS

#define PAWL_LEASE_NAME_MAX 255 /* characters of UTF-8, at least 1; case-sensitive */
#define PAWL_LEASE_TTL_MIN_MS 1000
#define PAWL_LEASE_TTL_MAX_MS 86400000
#define PAWL_LEASE_TTL_MS 30000 /* a reasonable default */

/* The state of a lease as granted by the database. The struct is fixed: it will not get further
 * members. */
typedef struct pawl_lease_grant {
    int64_t fence;        /* the fencing token */
    pawl_wall now;        /* the database's clock when the lease was granted */
    pawl_wall expires_at; /* by the same clock; after a release equal to `now` */
    bool taken;           /* newly acquired with a new token; false: extended, or released */
} pawl_lease_grant;

/**
 * Acquires the lease `name` for `ttl_ms`, or fails if another owner has it. If `owner` already owns
 * it, the lease is extended (never shortened) and keeps its token. An expired lease is acquired
 * with a new token, even by the same owner.
 *
 * Ownership: everything is copied. `owner_name` is informational: NULL is "host:pid".
 * Threads:   any.
 * Blocks:    one round trip, bounded by the store's timeout. PostgreSQL: an acquisition waits for
 *            transactions that have passed pawl_lease_guard() with the previous token.
 * Durable:   on PAWL_OK it is committed. PAWL_E_IN_DOUBT: call again with the same owner.
 * Errors:    PAWL_E_HELD (the message names the owner and the remaining time), PAWL_E_INVALID
 *            (name, zero owner, ttl_ms outside PAWL_LEASE_TTL_MIN_MS .. _MAX_MS), PAWL_E_BUSY,
 *            PAWL_E_TIMEOUT, PAWL_E_IN_DOUBT, PAWL_E_UNAVAILABLE.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_acquire(pawl_store *store, const char *name,
                                                        pawl_owner owner, int64_t ttl_ms,
                                                        const char *owner_name,
                                                        pawl_lease_grant *ret_grant,
                                                        pawl_error *err);

/*
 * Renews the lease: it expires `ttl_ms` from now, or later if it already did. PAWL_E_LOST: the
 * lease is no longer owned under this token, because it expired, was released, or was released by
 * force. An expired lease is not revived, even if it has no new owner. May be repeated, also after
 * PAWL_E_IN_DOUBT.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_renew(pawl_store *store, const char *name,
                                                      pawl_owner owner, int64_t fence,
                                                      int64_t ttl_ms, pawl_lease_grant *ret_grant,
                                                      pawl_error *err);

/*
 * Releases the lease: any owner may acquire it from now on. PAWL_E_LOST if it was no longer owned
 * under this token; a second release, for example after PAWL_E_IN_DOUBT, also returns this.
 * `ret_grant` may be NULL.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_release(pawl_store *store, const char *name,
                                                        pawl_owner owner, int64_t fence,
                                                        pawl_lease_grant *ret_grant,
                                                        pawl_error *err);

/**
 * Checks that the lease is owned under this token, by the database's clock, now. On PAWL_OK no
 * other owner can acquire the lease before the transaction has ended, even if the lease expires
 * meanwhile: the transaction's writes are committed before the next token is issued. The owner can
 * renew at the same time. On any other status the application must roll its transaction back; a
 * transaction of pawl_tx_begin_for() has already been rolled back.
 *
 * Ownership: `tx` stays the caller's.
 * Threads:   the transaction's.
 * Blocks:    one round trip. SQLite: until the transaction has the write lock, if it began without.
 *            The next acquisition waits for the end of the transaction: keep it short.
 * Durable:   nothing is written that others can see.
 * Errors:    PAWL_E_LOST, PAWL_E_INVALID, PAWL_E_MISUSE (the transaction has ended),
 *            PAWL_E_TX_RESTART (SQLite: begin with BEGIN IMMEDIATE), PAWL_E_SERIALIZATION
 *            (PostgreSQL above READ COMMITTED: the lease changed since the transaction began, if
 *            only by a renewal), PAWL_E_TIMEOUT, PAWL_E_UNAVAILABLE.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_guard(pawl_tx *tx, const char *name, int64_t fence,
                                                      pawl_error *err);

/* ---- administering leases ---- */

/* A lease and its owner, or its last owner. Owned by the library; members are added only at the
 * end. */
typedef struct pawl_lease {
    const char *name;
    bool owned;       /* owned, by the database's clock when it was read */
    pawl_owner owner; /* the owner, or the last one */
    const char *owner_name;
    int64_t fence;
    pawl_wall taken_at;
    pawl_wall renewed_at;
    pawl_wall expires_at;
    pawl_wall released_at; /* released, also by force; PAWL_TIME_UNSET: neither */
    /* The last forced release; kept under later owners. */
    pawl_wall forced_at; /* PAWL_TIME_UNSET: never */
    const char *forced_by;
    const char *forced_reason; /* may be NULL */
    int64_t forced_fence;      /* the token of the owner that lost it */
} pawl_lease;

/* An owned list of leases. */
typedef struct pawl_leases pawl_leases;
PAWL_API size_t pawl_leases_count(const pawl_leases *leases);
/* Borrowed from the list; NULL when `index` is out of range. */
PAWL_API const pawl_lease *pawl_leases_at(const pawl_leases *leases, size_t index);
/* The database's clock when the list was read; PAWL_TIME_UNSET if it is empty. */
PAWL_API pawl_wall pawl_leases_now(const pawl_leases *leases);
PAWL_API void pawl_leases_free(pawl_leases *leases); /* NULL is allowed */

/* Returns one lease, as a list of one. PAWL_E_NOT_FOUND: there is no record of it. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_get(pawl_store *store, const char *name,
                                                    pawl_leases **ret_one, pawl_error *err);

typedef struct pawl_lease_filter {
    size_t size;     /* set by PAWL_LEASE_FILTER_INIT, never by hand */
    pawl_page after; /* where the page begins: page.h */
    int limit;       /* 0: 100; at most 10000 */
    bool only_owned;
} pawl_lease_filter;
#define PAWL_LEASE_FILTER_INIT                                                                     \
    {                                                                                              \
        sizeof(pawl_lease_filter), PAWL_PAGE_INIT, 0, false                                        \
    }
/*
 * Lists leases, sorted by the bytes of their names. *ret_next: see page.h; the page after a full
 * one may be empty. `filter` may be NULL.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_list(pawl_store *store,
                                                     const pawl_lease_filter *filter,
                                                     pawl_leases **ret_list, pawl_page *ret_next,
                                                     pawl_error *err);

typedef struct pawl_lease_force_options {
    size_t size;        /* set by PAWL_LEASE_FORCE_OPTIONS_INIT, never by hand */
    const char *by;     /* the operator; NULL: "host:pid"; 1 to 255 characters */
    const char *reason; /* stored and displayed; may be NULL; truncated to 4 KB */
    int64_t fence;      /* only from the owner of this token; 0: any owner */
} pawl_lease_force_options;
#define PAWL_LEASE_FORCE_OPTIONS_INIT                                                              \
    {                                                                                              \
        sizeof(pawl_lease_force_options), NULL, NULL, 0                                            \
    }
/*
 * Revokes the lease. Its owner gets PAWL_E_LOST at its next renewal or pawl_lease_guard().
 * *ret_one (may be NULL) is the lease afterwards; the operator, time and reason are stored with it.
 * PAWL_E_NOT_FOUND: there is no such lease. PAWL_E_LOST: it has no owner, or not under this token.
 * Transactions that have already passed the guard may still commit; the next acquisition waits for
 * them.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_force_release(pawl_store *store, const char *name,
                                                              const pawl_lease_force_options *opts,
                                                              pawl_leases **ret_one,
                                                              pawl_error *err);

/*
 * Deletes leases that ended more than `keep_ms` ago; at most 1000 per call, and *ret_scan (may be
 * NULL) says whether there may be more. Tokens never decrease, whatever is deleted. Workers do this
 * in their maintenance task PAWL_MAINTENANCE_PRUNE.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_lease_clean(pawl_store *store, int64_t keep_ms,
                                                      size_t *ret_removed, pawl_scan *ret_scan,
                                                      pawl_error *err);

PAWL_END_DECLS

#endif
