/* bench/none_sqlite.c - instead of the SQLite files where that engine is not built in. */
#include "database.h"

const engine *const engine_sqlite = NULL;
