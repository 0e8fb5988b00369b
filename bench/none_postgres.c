/* bench/none_postgres.c - instead of the PostgreSQL files where that engine is not built in. */
#include "basics.h"
#include "held.h"

const engine *const engine_postgres = NULL;

void held_measure(row *r, grounds *g, held_runs *runs, const options *opts)
{
    (void)g;
    (void)runs;
    (void)opts;
    die("%s needs PostgreSQL", r->id);
}
