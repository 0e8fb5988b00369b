/* tests/jobs/seam.h - stop a scheduler between reading what is due and writing what it decided. */
#ifndef PAWL_JOBS_SEAM_H
#define PAWL_JOBS_SEAM_H

#include <stdbool.h>

/* The next time that this thread gets there, `call` is made in between. Until disarmed. */
void seam_arm(void (*call)(void *), void *context);
/* Whether it got there. */
bool seam_disarm(void);

#endif
