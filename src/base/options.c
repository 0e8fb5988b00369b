/* src/base/options.c - reading option structs that may be older or newer than this library. */
#include "options.h"

#include <string.h>

#include "fail.h"

pawl_status pawli_options_copy(void *target, size_t target_size, const void *given, pawl_error *err)
{
    const unsigned char *bytes = given;
    size_t size;

    if (!given)
        return PAWL_OK;
    memcpy(&size, given, sizeof size);
    if (size < sizeof size)
        return pawli_fail(err, PAWL_E_INVALID,
                          "the option struct's size is not set: start from its _INIT macro");
    for (size_t i = target_size; i < size; i++)
        if (bytes[i] != 0)
            return pawli_fail(err, PAWL_E_INVALID,
                              "the option struct sets fields that this library does not know: "
                              "use a libpawl at least as new as the headers");
    memcpy(target, given, size < target_size ? size : target_size);
    memcpy(target, &target_size, sizeof target_size);
    return PAWL_OK;
}
