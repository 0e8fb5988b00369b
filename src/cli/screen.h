/*
 * src/cli/screen.h - stderr, shared by threads, with a line at its end that is drawn anew in place.
 *
 * While there is such a line, everything that is written to the terminal goes through here: the
 * line is cleared first, and drawn again at its next turn. Any thread may call any of this.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stddef.h>

#include <pawl/export.h>

/* There may be such a line from now on, until cli_screen_end(), which clears it. */
void cli_screen_begin(void);
void cli_screen_end(void);
/* Draw it, cut to the terminal's width. Not while somebody's unfinished line stands there. */
void cli_screen_draw(const char *line);
/* Text of our own to stderr, in one piece. */
void cli_screen_print(const char *format, ...) PAWL_PRINTF(1, 2);
/* What a command wrote, to stdout or stderr. What `fd` does not take is lost. */
void cli_screen_pass(int fd, const char *bytes, size_t size);

#endif
