/* src/base/uuid.h - UUIDv7 and the text form of any UUID. */
#ifndef PAWLI_UUID_H
#define PAWLI_UUID_H

#include <stdbool.h>
#include <stdint.h>

/* RFC 9562 version 7; strictly increasing within the process, also when the clock steps back. */
void pawli_uuid_new(uint8_t ret_bytes[16]);
void pawli_uuid_format(const uint8_t bytes[16], char ret_text[37]);
bool pawli_uuid_parse(const char *text, uint8_t ret_bytes[16]);
bool pawli_uuid_is_zero(const uint8_t bytes[16]);

#endif
