/* src/base/options.c - reading option structs and filling in result structs of another version.
 */
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

pawl_status pawli_returned_check(const void *ret_output, pawl_error *err)
{
    size_t size;

    if (!ret_output)
        return PAWL_OK;
    memcpy(&size, ret_output, sizeof size);
    if (size < sizeof size)
        return pawli_fail(err, PAWL_E_INVALID,
                          "the size of the struct for the result is not set: start from its _INIT "
                          "macro");
    return PAWL_OK;
}

void pawli_returned_copy(void *ret_output, const void *filled, size_t filled_size)
{
    size_t size;

    if (!ret_output)
        return;
    memcpy(&size, ret_output, sizeof size);
    if (size > filled_size)
        size = filled_size;
    if (size > sizeof size)
        memcpy((unsigned char *)ret_output + sizeof size,
               (const unsigned char *)filled + sizeof size, size - sizeof size);
}
