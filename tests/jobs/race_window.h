/* tests/jobs/race_window.h - stop a scheduler between reading what is due and writing what it
 * decided. */
#ifndef PAWL_JOBS_RACE_WINDOW_H
#define PAWL_JOBS_RACE_WINDOW_H

#include <stdbool.h>

/* The next time that this thread gets there, `call` is made in between. Until disarmed. */
void race_window_arm(void (*call)(void *), void *context);
/* Whether it got there. */
bool race_window_disarm(void);

#endif
