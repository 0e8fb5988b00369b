/* src/base/options.h - reading option structs that may be older or newer than this library. */
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

#endif
