/* src/db/checkpoint.c - moving what was written into the database's own file, while it is quiet. */
#include "db.h"

#include "db_private.h"

pawl_status pawli_db_checkpoint(pawli_db *db, pawl_error *err)
{
    const pawli_driver *driver = db->settings.driver;
    pawli_conn *conn = NULL;
    pawl_status st = pawli_db_check_process(db, err);

    if (st != PAWL_OK || !driver->checkpoint)
        return st;
    st = pawli_pool_acquire(db->writers, pawli_pool_turn(db->writers), pawli_db_deadline(db), &conn,
                            err);
    if (st != PAWL_OK)
        return st;
    st = driver->checkpoint(conn, err);
    pawli_pool_give_back(db->writers, conn);
    return st;
}
