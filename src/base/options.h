/* src/base/options.h - reading option structs and filling in result structs of another version.
 */
#ifndef PAWLI_OPTIONS_H
#define PAWLI_OPTIONS_H

#include <stddef.h>

#include <pawl/error.h>

/*
 * Copies the caller's struct over `target`, which contains the defaults. Every option struct starts
 * with a size_t `size`. An older, shorter struct leaves the new fields at their defaults; a newer,
 * longer one is rejected if its unknown tail is not zero. NULL leaves all defaults.
 */
pawl_status pawli_options_copy(void *target, size_t target_size, const void *given,
                               pawl_error *err);

/*
 * The same for a struct that the library fills in and the caller allocates. Check it before the
 * call has an effect: PAWL_E_INVALID if its size is not set; NULL is allowed.
 */
pawl_status pawli_returned_check(const void *ret_output, pawl_error *err);
/*
 * Copies `filled` to the caller's struct, as much as both have. The caller's `size` and the members
 * that this library does not know stay as they are. NULL is allowed.
 */
void pawli_returned_copy(void *ret_output, const void *filled, size_t filled_size);

#endif
