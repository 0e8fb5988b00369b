/* src/base/json.h - is this text a JSON object? Strict: no duplicate keys, valid UTF-8. */
#ifndef PAWLI_JSON_H
#define PAWLI_JSON_H

#include <stddef.h>

#include <pawl/error.h>

/* PAWL_E_INVALID names the position; `what` names the field in the message. */
pawl_status pawli_json_check_object(const char *text, size_t size, const char *what,
                                    pawl_error *err);

#endif
