/* src/base/log.c - passing log records to the application's sink. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>

void pawli_log(const pawl_log_sink *sink, pawl_log_level level, const char *area,
               const char *format, ...)
{
    char message[768];
    va_list args;

    if (!sink->write || level < sink->level)
        return;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    /* A topic may contain a newline; a record is one line. */
    for (char *at = message; *at; at++)
        if ((unsigned char)*at < 0x20)
            *at = ' ';
    sink->write(sink->context, level, area, message);
}
