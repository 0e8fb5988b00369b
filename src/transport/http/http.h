/* src/transport/http/http.h - the HTTP transport, by libcurl: http, https, unix and pipe. */
#ifndef PAWLI_HTTP_H
#define PAWLI_HTTP_H

#include <pawl/sys/transport.h>

/* Settings shared by all instances; immutable. */
typedef struct pawli_http_settings {
    char *pipe_directory; /* may be NULL */
    char *user_agent;
    int idle_connections;
    int connections_per_host_port;
} pawli_http_settings;

pawl_status pawli_http_settings_new(const pawl_transports_options *opts,
                                    pawli_http_settings **ret_settings, pawl_error *err);

/*
 * Four transports with the same functions: one instance serves all. Their self is the settings; the
 * first one frees them.
 */
extern const pawl_transport pawli_http_transports[4];

#endif
