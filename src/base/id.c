/* src/base/id.c - the public id types. */
#include <pawl/id.h>

#include <string.h>

#include "fail.h"
#include "uuid.h"

static pawl_status id_parse(const char *text, const char *what, uint8_t ret_bytes[16],
                            pawl_error *err)
{
    if (!pawli_uuid_parse(text, ret_bytes))
        return pawli_fail(err, PAWL_E_INVALID,
                          "%s is not a UUID such as 0192d3c4-5e6f-7a8b-9c0d-1e2f3a4b5c6d", what);
    return PAWL_OK;
}

pawl_uuid pawl_uuid_new(void)
{
    pawl_uuid id;

    pawli_uuid_new(id.bytes);
    return id;
}

pawl_owner pawl_owner_new(void)
{
    pawl_owner owner;

    pawli_uuid_new(owner.bytes);
    return owner;
}

void pawl_uuid_format(pawl_uuid id, char ret_text[PAWL_UUID_TEXT_SIZE])
{
    pawli_uuid_format(id.bytes, ret_text);
}

void pawl_owner_format(pawl_owner owner, char ret_text[PAWL_UUID_TEXT_SIZE])
{
    pawli_uuid_format(owner.bytes, ret_text);
}

pawl_status pawl_uuid_parse(const char *text, pawl_uuid *ret_id, pawl_error *err)
{
    if (!ret_id)
        return pawli_fail(err, PAWL_E_INVALID, "ret_id must not be NULL");
    return id_parse(text, "the message id", ret_id->bytes, err);
}

pawl_status pawl_owner_parse(const char *text, pawl_owner *ret_owner, pawl_error *err)
{
    if (!ret_owner)
        return pawli_fail(err, PAWL_E_INVALID, "ret_owner must not be NULL");
    return id_parse(text, "the owner", ret_owner->bytes, err);
}

bool pawl_uuid_is_zero(pawl_uuid id)
{
    return pawli_uuid_is_zero(id.bytes);
}

bool pawl_uuid_equal(pawl_uuid a, pawl_uuid b)
{
    return memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0;
}

bool pawl_owner_is_zero(pawl_owner owner)
{
    return pawli_uuid_is_zero(owner.bytes);
}

bool pawl_owner_equal(pawl_owner a, pawl_owner b)
{
    return memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0;
}
