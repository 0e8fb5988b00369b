/*
 * src/base/json.h - JSON objects of users, checked; and lists of texts, which SQLite stores as
 * JSON.
 */
#ifndef PAWLI_JSON_H
#define PAWLI_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include <pawl/error.h>

#include "buffer.h"

/*
 * Strict: no duplicate keys, valid UTF-8. PAWL_E_INVALID: the message gives the position; `what`
 * names the field in it.
 */
pawl_status pawli_json_check_object(const char *text, size_t size, const char *what,
                                    pawl_error *err);

/* Appends an array of strings; the items are UTF-8. */
void pawli_json_write_texts(pawli_buffer *json, const char *const *items, size_t count);
typedef void pawli_on_text(void *context, const char *text, size_t size);
/*
 * Calls `on_text` for each string of an array. Anything else in the text is skipped. False when
 * memory ran out.
 */
bool pawli_json_read_texts(const char *text, size_t size, pawli_on_text *on_text, void *context);

#endif
