/* bench/database.c - what the databases of both engines have in common. */
#include "database.h"

#include "basics.h"

pawl_store_options database_options(const database *db, int connections)
{
    pawl_store_options options = PAWL_STORE_OPTIONS_INIT;

    options.schema = db->schema[0] ? db->schema : NULL;
    options.durability = db->durability;
    options.pool_size = connections;
    options.prepare = PAWL_PREPARE_ON; /* as the raw side does */
    return options;
}

void database_deploy(const database *db)
{
    pawl_store_options options = database_options(db, 1);
    pawl_error err = PAWL_ERROR_INIT;

    if (pawl_schema_deploy(db->url, &options, NULL, &err) != PAWL_OK)
        die("%s: %s", db->url, err.message);
}
