/* src/cli/terminal/terminal_line.c - stderr, shared by threads, with a status line at its end that
 * is redrawn in place. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console.h"
#include "alloc.h"
#include "scope.h"
#include "terminal_line.h"
#include "terminal_text.h"

/* The terminal is one thing, and so is this. */
static struct terminal_line {
    pthread_mutex_t lock;
    bool active;
    char *shown;   /* the line, or NULL */
    bool mid_line; /* the last output ended without a newline */
} terminal_line = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void write_bytes(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = write(fd, bytes, size);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return;
        bytes += sent;
        size -= (size_t)sent;
    }
}

/* By spaces, which every terminal understands. With the lock held. */
static void clear_status_line(void)
{
    if (!terminal_line.shown)
        return;
    PAWLI_AUTO_FREE char *blank =
        cli_print("\r%*s\r", (int)cli_text_width(terminal_line.shown), "");
    write_bytes(STDERR_FILENO, blank, strlen(blank));
    free(terminal_line.shown);
    terminal_line.shown = NULL;
}

void cli_terminal_line_begin(void)
{
    pthread_mutex_lock(&terminal_line.lock);
    terminal_line.active = true;
    pthread_mutex_unlock(&terminal_line.lock);
}

void cli_terminal_line_end(void)
{
    pthread_mutex_lock(&terminal_line.lock);
    clear_status_line();
    terminal_line.active = false;
    pthread_mutex_unlock(&terminal_line.lock);
}

void cli_terminal_line_draw(const char *line)
{
    size_t room = cli_width(stderr);
    /* In the last column some terminals would begin a new line. */
    size_t length = cli_text_fit(line, room > 1 ? room - 1 : 0);
    PAWLI_AUTO_FREE char *cut = cli_copy_bytes(line, length);

    pthread_mutex_lock(&terminal_line.lock);
    bool same = terminal_line.shown && strcmp(terminal_line.shown, cut) == 0;
    if (terminal_line.active && !terminal_line.mid_line && !same) {
        clear_status_line();
        write_bytes(STDERR_FILENO, cut, length);
        terminal_line.shown = cut;
        cut = NULL;
    }
    pthread_mutex_unlock(&terminal_line.lock);
}

void cli_terminal_line_print(const char *format, ...)
{
    PAWLI_AUTO_FREE char *text = NULL;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) {
        text = NULL;
        return;
    }
    pthread_mutex_lock(&terminal_line.lock);
    clear_status_line();
    if (terminal_line.mid_line)
        write_bytes(STDERR_FILENO, "\n", 1);
    terminal_line.mid_line = false;
    write_bytes(STDERR_FILENO, text, (size_t)length);
    pthread_mutex_unlock(&terminal_line.lock);
}

void cli_terminal_line_pass(int fd, const char *bytes, size_t size)
{
    if (size == 0)
        return;
    pthread_mutex_lock(&terminal_line.lock);
    clear_status_line();
    write_bytes(fd, bytes, size);
    terminal_line.mid_line = terminal_line.active && bytes[size - 1] != '\n';
    pthread_mutex_unlock(&terminal_line.lock);
}
