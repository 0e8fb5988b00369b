/* src/cli/screen.c - stderr, shared by threads, with a line at its end that is drawn anew in place.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "output.h"
#include "screen.h"
#include "text.h"

/* The terminal is one thing, and so is this. */
static struct screen {
    pthread_mutex_t lock;
    bool active;
    char *shown;   /* the line, or NULL */
    bool mid_line; /* somebody's output ended without a newline */
} screen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void put(int fd, const char *bytes, size_t size)
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
static void clear(void)
{
    if (!screen.shown)
        return;
    CLI_AUTO_FREE char *blank = cli_print("\r%*s\r", (int)cli_text_width(screen.shown), "");
    put(STDERR_FILENO, blank, strlen(blank));
    free(screen.shown);
    screen.shown = NULL;
}

void cli_screen_begin(void)
{
    pthread_mutex_lock(&screen.lock);
    screen.active = true;
    pthread_mutex_unlock(&screen.lock);
}

void cli_screen_end(void)
{
    pthread_mutex_lock(&screen.lock);
    clear();
    screen.active = false;
    pthread_mutex_unlock(&screen.lock);
}

void cli_screen_draw(const char *line)
{
    size_t room = cli_width(stderr);
    /* In the last column some terminals would begin a new line. */
    size_t length = cli_text_fit(line, room > 1 ? room - 1 : 0);
    CLI_AUTO_FREE char *cut = cli_copy_bytes(line, length);

    pthread_mutex_lock(&screen.lock);
    bool same = screen.shown && strcmp(screen.shown, cut) == 0;
    if (screen.active && !screen.mid_line && !same) {
        clear();
        put(STDERR_FILENO, cut, length);
        screen.shown = cut;
        cut = NULL;
    }
    pthread_mutex_unlock(&screen.lock);
}

void cli_screen_print(const char *format, ...)
{
    CLI_AUTO_FREE char *text = NULL;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) {
        text = NULL;
        return;
    }
    pthread_mutex_lock(&screen.lock);
    clear();
    if (screen.mid_line)
        put(STDERR_FILENO, "\n", 1);
    screen.mid_line = false;
    put(STDERR_FILENO, text, (size_t)length);
    pthread_mutex_unlock(&screen.lock);
}

void cli_screen_pass(int fd, const char *bytes, size_t size)
{
    if (size == 0)
        return;
    pthread_mutex_lock(&screen.lock);
    clear();
    put(fd, bytes, size);
    screen.mid_line = screen.active && bytes[size - 1] != '\n';
    pthread_mutex_unlock(&screen.lock);
}
