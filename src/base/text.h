/* src/base/text.h - UTF-8: counting characters, validating, truncating at a character boundary. */
#ifndef PAWLI_TEXT_H
#define PAWLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of the well-formed character at `text` (0: none) and its code point. */
size_t pawli_utf8_next(const char *text, size_t size, uint32_t *ret_point);
/* Whether the bytes are well-formed UTF-8; *ret_characters (may be NULL) counts code points. */
bool pawli_utf8_check(const char *text, size_t size, size_t *ret_characters);
/* The longest prefix of at most `limit` bytes that does not cut a character. */
size_t pawli_utf8_prefix(const char *text, size_t size, size_t limit);
/*
 * Copies text of any origin so that every database accepts it: malformed bytes become '?', and it
 * is truncated to `room` - 1 bytes and terminated. Returns the length.
 */
size_t pawli_utf8_clean(const char *text, char *ret_clean, size_t room);

#endif
