/* include/pawl/id.h - three kinds of id, each with its own type so that the compiler rejects
 * mix-ups.
 */
#ifndef PAWL_ID_H
#define PAWL_ID_H

#include <stdbool.h>
#include <stdint.h>

#include <pawl/error.h>
#include <pawl/export.h>

PAWL_BEGIN_DECLS

/* The queue's key of a message. Assigned by the database, never reused. The struct is fixed: it
 * will not get further members. */
typedef struct pawl_work_id {
    int64_t value;
} pawl_work_id;

/* The logical message: a UUID chosen by the sender, the same for all attempts. The struct is fixed:
 * it will not get further members. */
typedef struct pawl_uuid {
    uint8_t bytes[16];
} pawl_uuid;

/* One worker instance: a UUID per start. All zero means "no owner" and is rejected as an owner. The
 * struct is fixed: it will not get further members. */
typedef struct pawl_owner {
    uint8_t bytes[16];
} pawl_owner;

/* 36 characters and the terminating zero. */
#define PAWL_UUID_TEXT_SIZE 37

/*
 * Returns a new UUIDv7: ordered by time, and strictly increasing within this process. Any thread.
 */
PAWL_API pawl_uuid pawl_uuid_new(void);
PAWL_API pawl_owner pawl_owner_new(void);

/* Formats the id in the canonical lower-case form, e.g. 0192d3c4-.... */
PAWL_API void pawl_uuid_format(pawl_uuid id, char ret_text[PAWL_UUID_TEXT_SIZE]);
PAWL_API void pawl_owner_format(pawl_owner owner, char ret_text[PAWL_UUID_TEXT_SIZE]);

/* Parses the 36-character form in either case; PAWL_E_INVALID otherwise. */
PAWL_API PAWL_MUST_CHECK pawl_status pawl_uuid_parse(const char *text, pawl_uuid *ret_id,
                                                     pawl_error *err);
PAWL_API PAWL_MUST_CHECK pawl_status pawl_owner_parse(const char *text, pawl_owner *ret_owner,
                                                      pawl_error *err);

PAWL_API bool pawl_uuid_is_zero(pawl_uuid id);
PAWL_API bool pawl_uuid_equal(pawl_uuid a, pawl_uuid b);
PAWL_API bool pawl_owner_is_zero(pawl_owner owner);
PAWL_API bool pawl_owner_equal(pawl_owner a, pawl_owner b);

PAWL_END_DECLS

#endif
