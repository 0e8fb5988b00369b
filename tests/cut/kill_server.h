/* tests/cut/kill_server.h - killing a whole PostgreSQL server at once. */
#ifndef PAWL_CUT_KILL_SERVER_H
#define PAWL_CUT_KILL_SERVER_H

/*
 * SIGKILL to the server whose data directory this is and to all its processes; how many that were,
 * or 0 if it is not running. tests/with-postgres starts it again. Any thread.
 */
int kill_server(const char *data_directory);

#endif
