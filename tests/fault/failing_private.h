/* tests/fault/failing_private.h - declarations shared by the files of failing calls. */
#ifndef PAWL_TEST_FAILING_PRIVATE_H
#define PAWL_TEST_FAILING_PRIVATE_H

#include "failing.h"

/* Count one call; true if this is the one that fails. */
bool failing_now(failing_kind kind, const char *where);
/* The `how` of failing_arm(). */
int failing_how(void);

/* Remember whose connection was cut. */
void failing_note_cut(int backend);

void failing_sqlite_prepare(void);

#endif
