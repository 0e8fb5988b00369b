/*
 * src/base/bounds.h - the limits of every stored value, and defaults: one place for both engines
 * and for C.
 *
 * X_MIN and X_MAX are inclusive; X_RANGE is the same as text for error messages. Durations are in
 * milliseconds. The SQL files contain @X_MIN@, @X_MAX@ and @X_RANGE@, which scripts/embed-sql.py
 * replaces by these values, so they must be plain numbers, not expressions. src/core/message.c
 * compares the constants of the public headers with these.
 */
#ifndef PAWLI_BOUNDS_H
#define PAWLI_BOUNDS_H

/* clang-format off */

/* ---- a message ---- */
#define PAWLI_TOPIC_MIN               1
#define PAWLI_TOPIC_MAX                255 /* characters */
#define PAWLI_TOPIC_RANGE               "1 to 255 characters"
#define PAWLI_CORRELATION_MIN         1
#define PAWLI_CORRELATION_MAX          255 /* characters */
#define PAWLI_CORRELATION_RANGE         "1 to 255 characters"
#define PAWLI_ORDERING_KEY_MIN        1
#define PAWLI_ORDERING_KEY_MAX         255 /* characters */
#define PAWLI_ORDERING_KEY_RANGE        "1 to 255 characters"
#define PAWLI_UNIQUE_KEY_MIN          1
#define PAWLI_UNIQUE_KEY_MAX           255 /* characters */
#define PAWLI_UNIQUE_KEY_RANGE          "1 to 255 characters"
#define PAWLI_TAG_MIN                 1
#define PAWLI_TAG_MAX                  64 /* characters */
#define PAWLI_TAGS_MAX                 16 /* of one message */
#define PAWLI_TAGS_RANGE                "at most 16 of 1 to 64 characters"
/* In bytes: topic and destination share an index entry, which PostgreSQL limits to 2,704 bytes. */
#define PAWLI_DESTINATION_MIN         1
#define PAWLI_DESTINATION_MAX          1024
#define PAWLI_DESTINATION_RANGE         "1 to 1024 bytes"
#define PAWLI_HEADERS_MAX              1048576 /* bytes */
#define PAWLI_HEADERS_RANGE             "a JSON object of at most 1 MiB"
/* Both engines can store a row of this size with all other columns: the limits are 1,000,000,000
 * bytes (SQLite) and 1 GiB (PostgreSQL). */
#define PAWLI_PAYLOAD_MAX              943718400 /* bytes */
#define PAWLI_PAYLOAD_RANGE             "at most 900 MiB"
#define PAWLI_PRIORITY_MIN            0
#define PAWLI_PRIORITY_MAX             9
#define PAWLI_PRIORITY_RANGE            "0 to 9"
#define PAWLI_TYPE_MIN                0
#define PAWLI_TYPE_MAX                 3
#define PAWLI_ATTEMPTS_MIN            1
#define PAWLI_ATTEMPTS_MAX             1000
#define PAWLI_ATTEMPTS_RANGE            "1 to 1000"
/* With a destination. 0: until it expires. Below 0: as many, and every send counts. */
#define PAWLI_REMOTE_ATTEMPTS_MIN     0
#define PAWLI_REMOTE_ATTEMPTS_MAX      1000
#define PAWLI_REMOTE_ATTEMPTS_RANGE     "0 (until it expires) to 1000"
#define PAWLI_BATCH_MAX                10000 /* messages, receipts or rows in one call */
#define PAWLI_BATCH_RANGE               "1 to 10000"
#define PAWLI_BATCH_BYTES_MAX          67108864 /* of payload in one call with several messages */
#define PAWLI_BATCH_BYTES_RANGE         "at most 64 MiB of payload"

/* ---- times, in milliseconds since 1970: years that both engines store and print ---- */
#define PAWLI_TIME_MIN                (-62135596800000)
#define PAWLI_TIME_MAX                 253402300799999
#define PAWLI_TIME_RANGE                "between the year 1 and the year 9999"
#define PAWLI_EXPIRY_RANGE              "between the year 1970 and the year 9999"
#define PAWLI_DELAY_MIN               0
#define PAWLI_DELAY_MAX                3153600000000
#define PAWLI_DELAY_RANGE               "0 to 100 years"
#define PAWLI_TTL_MIN                 1
#define PAWLI_TTL_MAX                  3153600000000
#define PAWLI_TTL_RANGE                 "1 millisecond to 100 years"
#define PAWLI_KEEP_MIN                0 /* of finished messages */
#define PAWLI_KEEP_MAX                 3153600000000
#define PAWLI_KEEP_RANGE                "0 to 100 years"
#define PAWLI_LEASE_MIN               1 /* also of a timeout and a heartbeat */
#define PAWLI_LEASE_MAX                604800000
#define PAWLI_LEASE_RANGE               "1 millisecond to 7 days"
#define PAWLI_BACKOFF_MIN             1
#define PAWLI_BACKOFF_MAX              2592000000
#define PAWLI_BACKOFF_RANGE             "1 millisecond to 30 days"
#define PAWLI_JITTER_MIN              0
#define PAWLI_JITTER_MAX               2592000000
#define PAWLI_JITTER_RANGE              "0 to 30 days"

/* ---- claims and the operations that end them ---- */
#define PAWLI_OWNER_NAME_MIN          1
#define PAWLI_OWNER_NAME_MAX           255 /* characters */
#define PAWLI_OWNER_NAME_RANGE          "1 to 255 characters"
#define PAWLI_NAMES_MAX                1000 /* topics or destinations of one claim */
#define PAWLI_NAMES_RANGE               "1 to 1000"
#define PAWLI_TEXT_MAX                 4095 /* bytes of an error or progress text; longer text is truncated */
#define PAWLI_OUTPUT_MAX               65536 /* bytes */
#define PAWLI_OUTPUT_RANGE              "at most 64 KiB"

/* ---- leases ---- */
#define PAWLI_LEASE_NAME_MIN          1
#define PAWLI_LEASE_NAME_MAX           255 /* characters */
#define PAWLI_LEASE_NAME_RANGE          "1 to 255 characters"
#define PAWLI_LEASE_TTL_MIN           1000
#define PAWLI_LEASE_TTL_MAX            86400000
#define PAWLI_LEASE_TTL_RANGE           "1 second to 1 day"

/* ---- the inbox ---- */
#define PAWLI_INBOX_KEY_MIN           1
#define PAWLI_INBOX_KEY_MAX            255 /* characters of a source, an id, an endpoint */
#define PAWLI_INBOX_KEY_RANGE           "1 to 255 characters"
#define PAWLI_INBOX_KEEP_MIN          0
#define PAWLI_INBOX_KEEP_MAX           315360000000
#define PAWLI_INBOX_KEEP_RANGE          "0 to 10 years"

/* ---- jobs ---- */
#define PAWLI_JOB_NAME_MIN            1
#define PAWLI_JOB_NAME_MAX             100 /* characters */
#define PAWLI_JOB_NAME_RANGE            "1 to 100 characters"
#define PAWLI_SCHEDULE_MIN            1
#define PAWLI_SCHEDULE_MAX             255 /* characters, also of a time zone's name */
#define PAWLI_SCHEDULE_RANGE            "1 to 255 characters"
#define PAWLI_MISFIRE_CAP_MIN         1
#define PAWLI_MISFIRE_CAP_MAX          1000
#define PAWLI_MISFIRE_CAP_RANGE         "1 to 1000"
#define PAWLI_MISFIRE_GRACE_MIN       0
#define PAWLI_MISFIRE_GRACE_MAX        604800000
#define PAWLI_MISFIRE_GRACE_RANGE       "0 to 7 days"
#define PAWLI_JOB_JITTER_MIN          0
#define PAWLI_JOB_JITTER_MAX           86400000
#define PAWLI_JOB_JITTER_RANGE          "0 to 1 day"
#define PAWLI_JOB_LEASE_MIN           1000
#define PAWLI_JOB_LEASE_MAX            604800000
#define PAWLI_JOB_LEASE_RANGE           "1 second to 7 days"
#define PAWLI_JOB_HEARTBEAT_MIN       100
#define PAWLI_JOB_HEARTBEAT_MAX        604800000
#define PAWLI_JOB_HEARTBEAT_RANGE       "100 milliseconds to 7 days"
#define PAWLI_KEEP_RUNS_MIN           1
#define PAWLI_KEEP_RUNS_MAX            100000
#define PAWLI_KEEP_RUNS_RANGE           "1 to 100000"

/* ---- defaults ---- */
#define PAWLI_ATTEMPTS_LOCAL            10
#define PAWLI_ATTEMPTS_REMOTE           0 /* until it expires */
#define PAWLI_ATTEMPTS_COUNTED          6 /* with a destination, where every send counts */
#define PAWLI_TTL_REMOTE                86400000 /* with a destination */
#define PAWLI_BACKOFF_LOCAL_BASE        1000
#define PAWLI_BACKOFF_LOCAL_MOST        60000
#define PAWLI_BACKOFF_REMOTE_BASE       2000 /* with a jitter of a tenth of the delay */
#define PAWLI_BACKOFF_REMOTE_MOST       3600000
#define PAWLI_BACKOFF_COUNTED_BASE      2000
#define PAWLI_BACKOFF_COUNTED_MOST      300000
#define PAWLI_BACKOFF_COUNTED_JITTER    500
#define PAWLI_LEASE_DEFAULT             30000 /* of a claim, a lease, an attempt of the inbox */
#define PAWLI_KEEP_DEFAULT_DAYS         7 /* of finished messages and ended leases */
#define PAWLI_INBOX_KEEP_DEFAULT        172800000
#define PAWLI_INBOX_ATTEMPTS_DEFAULT    10
#define PAWLI_MISFIRE_CAP_DEFAULT       100
#define PAWLI_MISFIRE_GRACE_DEFAULT     60000
#define PAWLI_JOB_LEASE_DEFAULT         120000
#define PAWLI_JOB_HEARTBEAT_DEFAULT     30000
#define PAWLI_KEEP_RUNS_DEFAULT         100

/* clang-format on */
#endif
