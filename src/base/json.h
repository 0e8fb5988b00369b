/* src/base/json.h - checking that a text is a JSON object. Strict: no duplicate keys, valid UTF-8.
 */
#ifndef PAWLI_JSON_H
#define PAWLI_JSON_H

#include <stddef.h>

#include <pawl/error.h>

/* PAWL_E_INVALID: the message gives the position; `what` names the field in it. */
pawl_status pawli_json_check_object(const char *text, size_t size, const char *what,
                                    pawl_error *err);

#endif
