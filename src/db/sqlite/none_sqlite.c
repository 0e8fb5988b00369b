/* src/db/sqlite/none_sqlite.c - replaces the driver in a build without SQLite. */
#include "driver.h"

const pawli_driver *const pawli_driver_sqlite = NULL;
