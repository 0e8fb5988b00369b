/* src/base/log_level.c - the names of the log levels. */
#include <pawl/log.h>

const char *pawl_log_level_name(pawl_log_level level)
{
    static const char *const names[] = {"debug", "info", "warning", "error"};

    return (unsigned)level < 4 ? names[level] : "unknown";
}
