/* src/db/postgres/none_postgres.c - a library built without PostgreSQL. */
#include "driver.h"

const pawli_driver *const pawli_driver_postgres = NULL;
