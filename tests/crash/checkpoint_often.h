/* tests/crash/checkpoint_often.h - check-points every few pages, the product's and others'. */
#ifndef PAWL_CRASH_CHECKPOINT_OFTEN_H
#define PAWL_CRASH_CHECKPOINT_OFTEN_H

/*
 * The product check-points when the log has 16 MB, other connections after 1000 pages: thousands of
 * operations in which nothing else happens. From here on both do it after 48 pages. Once per
 * process; programs are linked with --wrap=sqlite3_wal_hook.
 */
void checkpoint_often_install(void);

#endif
