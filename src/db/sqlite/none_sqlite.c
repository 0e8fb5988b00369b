/* src/db/sqlite/none_sqlite.c - stands in for the driver in a build without SQLite. */
#include "driver.h"

const pawli_driver *const pawli_driver_sqlite = NULL;
