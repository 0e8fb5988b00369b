/* include/pawl/inbox_records.h - administering the inbox: records, counts, dead messages,
 * retention.
 */
#ifndef PAWL_INBOX_RECORDS_H
#define PAWL_INBOX_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/clock.h>
#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/maintenance.h>
#include <pawl/page.h>
#include <pawl/store.h>

PAWL_BEGIN_DECLS

typedef enum pawl_inbox_state {
    PAWL_INBOX_SEEN = 0,       /* known, not being processed */
    PAWL_INBOX_PROCESSING = 1, /* being processed, or its process died: see the lease */
    PAWL_INBOX_DONE = 2,
    PAWL_INBOX_DEAD = 3 /* deliveries are refused until it is retried or purged */
} pawl_inbox_state;

/* "seen", "processing", "done", "dead". Never NULL. */
PAWL_API const char *pawl_inbox_state_name(pawl_inbox_state state);

/* One record. Owned by the library; members are added only at the end. */
typedef struct pawl_inbox_record {
    int64_t number; /* increases in order of arrival */
    const char *source;
    const char *id;
    pawl_inbox_state state;
    const char *endpoint; /* or NULL */
    int attempts;
    int max_attempts;
    int64_t duplicates;    /* deliveries that got the cached response */
    int64_t fence;         /* of the last attempt */
    pawl_wall lease_until; /* while it is being processed; or PAWL_TIME_UNSET */
    pawl_wall first_seen;
    pawl_wall last_seen;
    pawl_wall processed_at; /* or PAWL_TIME_UNSET */
    pawl_wall expires_at;   /* deleted then; PAWL_TIME_UNSET: kept until purged */
    const uint8_t *hash;    /* SHA-256 of the payload, 32 bytes; or NULL */
    const char *error;      /* of the last failed attempt; or NULL */
    const void *response;   /* pawl_inbox_get() only; or NULL */
    size_t response_size;
    /* An attempt that ran concurrently with others did not end (pawl/inbox.h): one attempt is not
     * counted. */
    bool suspect;
} pawl_inbox_record;

/* An owned list of records. */
typedef struct pawl_inbox_records pawl_inbox_records;
PAWL_API size_t pawl_inbox_records_count(const pawl_inbox_records *records);
/* Borrowed from the list; NULL when `index` is out of range. */
PAWL_API const pawl_inbox_record *pawl_inbox_records_at(const pawl_inbox_records *records,
                                                        size_t index);
PAWL_API void pawl_inbox_records_free(pawl_inbox_records *records); /* NULL is allowed */

/* Returns one record in full, as a list of one. PAWL_E_NOT_FOUND if there is none. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_get(pawl_store *store, const char *source,
                                                    const char *id, pawl_inbox_records **ret_one,
                                                    pawl_error *err);

/* Selects records. A zeroed filter (PAWL_INBOX_FILTER_INIT) selects all. */
typedef struct pawl_inbox_filter {
    size_t size;        /* set by PAWL_INBOX_FILTER_INIT, never by hand */
    unsigned states;    /* bit set of 1u << PAWL_INBOX_...; 0: any */
    const char *source; /* NULL: any */
    pawl_page after;    /* where the page begins: page.h */
    int limit;          /* 0: 100; at most 10000 */
} pawl_inbox_filter;
#define PAWL_INBOX_FILTER_INIT                                                                     \
    {                                                                                              \
        sizeof(pawl_inbox_filter), 0, NULL, PAWL_PAGE_INIT, 0                                      \
    }

/*
 * Lists records, newest first. *ret_next: see page.h. One call reads at most 10,000 rows, so a page
 * may be short or even empty although there is a next one.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_list(pawl_store *store,
                                                     const pawl_inbox_filter *filter,
                                                     pawl_inbox_records **ret_list,
                                                     pawl_page *ret_next, pawl_error *err);

/*
 * Resets dead records: they get all their attempts again when the message is delivered again.
 * `source` and `id` NULL: all dead records. *ret_changed (may be NULL) is their number, including
 * those changed before a failure.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_retry(pawl_store *store, const char *source,
                                                      const char *id, size_t *ret_changed,
                                                      pawl_error *err);
/* Deletes dead records: the next delivery of the same message is new. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_purge(pawl_store *store, const char *source,
                                                      const char *id, size_t *ret_changed,
                                                      pawl_error *err);

/*
 * Maintenance, as in queue.h: deletes records whose retention has ended, which is keep_ms after the
 * message was processed, or after it was last seen if it never was; dead records are kept. A
 * bounded amount per call; *ret_scan (may be NULL) says whether there may be more. A worker does
 * this every 5 minutes.
 */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_clean(pawl_store *store, size_t *ret_changed,
                                                      pawl_scan *ret_scan, pawl_error *err);

/* Counting stops at 10,000 per state: the real number may be higher. */
#define PAWL_INBOX_COUNT_MAX 10000
typedef struct pawl_inbox_stats {
    size_t size; /* set by PAWL_INBOX_STATS_INIT, never by hand */
    int64_t seen;
    int64_t processing;
    int64_t stuck; /* of those, the ones with an expired lease: the process died */
    int64_t done;
    int64_t dead;
} pawl_inbox_stats;
#define PAWL_INBOX_STATS_INIT                                                                      \
    {                                                                                              \
        sizeof(pawl_inbox_stats), 0, 0, 0, 0, 0                                                    \
    }
PAWL_API PAWL_MUST_CHECK pawl_status pawl_inbox_get_stats(pawl_store *store,
                                                          pawl_inbox_stats *ret_stats,
                                                          pawl_error *err);

PAWL_END_DECLS

#endif
