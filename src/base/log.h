/* src/base/log.h - passing log records to the application's sink. */
#ifndef PAWLI_LOG_H
#define PAWLI_LOG_H

#include <pawl/log.h>

/* Formats only when the sink's level includes the record. */
void pawli_log(const pawl_log_sink *sink, pawl_log_level level, const char *area,
               const char *format, ...) PAWL_PRINTF(4, 5);

#endif
