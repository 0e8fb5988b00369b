/* src/cli/terminal/terminal_line.h - stderr, shared by threads, with a status line at its end that
 * is redrawn in place.  While there is a status line, all output to the terminal goes through here:
 * the line is cleared first, and drawn again at the next update. Any thread may call any of these
 * functions. */
#ifndef CLI_TERMINAL_LINE_H
#define CLI_TERMINAL_LINE_H

#include <stddef.h>

#include <pawl/export.h>

/* Enables the status line until cli_terminal_line_end(), which clears it. */
void cli_terminal_line_begin(void);
void cli_terminal_line_end(void);
/*
 * Draws it, truncated to the terminal's width. Does nothing while the cursor is in an unfinished
 * line of other output.
 */
void cli_terminal_line_draw(const char *line);
/* Prints our own text to stderr, in one write. */
void cli_terminal_line_print(const char *format, ...) PAWL_PRINTF(1, 2);
/* Forwards what a command wrote to stdout or stderr. What `fd` does not accept is lost. */
void cli_terminal_line_pass(int fd, const char *bytes, size_t size);

#endif
