/* src/cli/config/setting.h - the table of settings: from it come the parser of the configuration
 * file, the flags of `pawl serve`, the environment variables, `pawl config` and
 * docs/configuration.md. */
#ifndef CLI_SETTING_H
#define CLI_SETTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pawl/error.h>

#include "args.h"

typedef enum cli_value_kind {
    CLI_VALUE_TEXT,   /* const char *; NULL: not set */
    CLI_VALUE_URL,    /* the same; a password in it is never shown */
    CLI_VALUE_NUMBER, /* int64_t, min .. max */
    CLI_VALUE_SPAN,   /* int64_t milliseconds, min .. max: "250ms", "1h30m" */
    CLI_VALUE_SIZE,   /* int64_t bytes, min .. max: "512", "64KiB", "1MiB" */
    CLI_VALUE_BOOL,   /* bool: "on", "off" */
    CLI_VALUE_CHOICE, /* int64_t: the index of the word in `choices` */
    CLI_VALUE_LIST,   /* cli_texts: words separated by commas */
    CLI_VALUE_SECRETS /* cli_texts: sources of secrets, "file:PATH" or "env:NAME" */
} cli_value_kind;

/* Whose option a setting is: pawl_store_options, ... */
typedef enum cli_library {
    CLI_LIBRARY_NONE,
    CLI_LIBRARY_store,
    CLI_LIBRARY_worker,
    CLI_LIBRARY_delivery,
    CLI_LIBRARY_service,
    CLI_LIBRARY_receiver,
    CLI_LIBRARY_receive,
    CLI_LIBRARY_COUNT
} cli_library;
/* The options as their PAWL_..._INIT has them. */
extern const void *const cli_library_defaults[CLI_LIBRARY_COUNT];

typedef struct cli_setting {
    const char *key;
    cli_value_kind kind;
    const char *value;    /* the name of the value in the documentation; NULL: by its kind */
    const char *fallback; /* the default as written in the file; NULL: the library's, or not set */
    const char *flag;     /* of `pawl serve`, without the dashes; NULL: none */
    const char *choices;  /* CLI_VALUE_CHOICE: "text|json" */
    const char *help;
    size_t offset; /* of the field in the section's struct */
    int64_t min;
    int64_t max;
    cli_library library; /* the option that it sets */
    size_t library_offset;
    size_t library_size;
} cli_setting;

typedef struct cli_section {
    const char *name;
    const char *about;
    const char *named; /* the word after it in the heading: "NAME"; NULL: only one section */
    const cli_setting *settings;
    size_t count;
    size_t size; /* of its struct */
} cli_section;

/* The indexes of the sections in the table. */
typedef enum cli_section_id {
    CLI_SECTION_DATABASE,
    CLI_SECTION_SERVER,
    CLI_SECTION_LOG,
    CLI_SECTION_DELIVERY,
    CLI_SECTION_INBOX,
    CLI_SECTION_WORKER,
    CLI_SECTION_SERVICE,
    CLI_SECTION_RECEIVE,
    CLI_SECTION_COUNT
} cli_section_id;
extern const cli_section cli_sections[CLI_SECTION_COUNT];

typedef struct cli_database_settings {
    const char *url;
    const char *schema;
    const char *prefix;
    int64_t timeout_ms;
    int64_t pool_size;
    int64_t durability; /* pawl_durability */
    bool deploy;
} cli_database_settings;

typedef struct cli_server_settings {
    cli_texts listen;
    const char *socket;
    const char *service_id;
    cli_texts token;
    const char *tls_cert;
    const char *tls_key;
    int64_t max_body;
    int64_t max_headers;
    int64_t max_buffered;
    int64_t timeout_ms;
    int64_t connections;
    int64_t connections_per_ip;
    cli_texts trusted_proxies;
    int64_t threads;
    int64_t grace_ms;
} cli_server_settings;

typedef enum cli_log_format { CLI_LOG_TEXT, CLI_LOG_JSON } cli_log_format;
typedef struct cli_log_settings {
    int64_t format; /* cli_log_format */
    int64_t level;  /* pawl_log_level */
} cli_log_settings;

typedef struct cli_delivery_settings {
    bool enabled;
    int64_t batch;
    int64_t concurrency;
    int64_t lease_ms;
    int64_t breaker_failures;
    int64_t breaker_base_ms;
    int64_t breaker_max_ms;
    int64_t retry_after_max_ms;
    bool responses;
    const char *response_topic;
} cli_delivery_settings;

typedef struct cli_inbox_settings {
    int64_t handlers;
    int64_t waiting;
    int64_t max_attempts;
    int64_t lease_ms;
    int64_t retention_ms;
    int64_t retry_window_ms;
    int64_t cleanup_ms;
    int64_t replay_window_ms;
} cli_inbox_settings;

typedef struct cli_worker_settings {
    int64_t retention_ms;
    int64_t reap_ms;
    int64_t expire_ms;
    int64_t retain_ms;
} cli_worker_settings;

typedef struct cli_service_settings {
    const char *url;
    cli_texts secret;
    int64_t scheme;
    int64_t connect_timeout_ms;
    int64_t timeout_ms;
    int64_t concurrency;
    int64_t retry_base_ms;
    int64_t retry_max_ms;
    int64_t retry_jitter_ms;
    int64_t max_attempts;
    int64_t count; /* 0: answered, 1: all */
    bool allow_private;
    int64_t max_response;
    const char *ca_file;
    const char *proxy;
} cli_service_settings;

typedef struct cli_receive_settings {
    const char *topic; /* NULL: the section's name is the topic */
    const char *forward;
    const char *command;
    const char *enqueue;
    const char *destination;
    int64_t timeout_ms;
    int64_t max_attempts; /* 0: the inbox's */
    int64_t concurrency;  /* 0: no limit of its own */
} cli_receive_settings;

/* "PAWL_SERVER_LISTEN"; only settings of sections without names have one. */
char *cli_setting_variable(const cli_section *section, const cli_setting *setting);
/* The allowed values: "a number from 1 to 1000", "text or json". malloc'ed. */
char *cli_setting_allowed(const cli_setting *setting);

/*
 * Parses `text` into the field in `values`; the field owns its strings, which cli_setting_done()
 * frees. Lists are appended to. False: nothing has changed, and *ret_problem (malloc'ed) says what
 * is allowed; it repeats the text unless that might be a secret.
 */
bool cli_setting_store(const cli_setting *setting, void *values, const char *text,
                       char **ret_problem);
/* Sets the field to the library's default, if the setting has none of its own. */
void cli_setting_take_default(const cli_setting *setting, void *values);
/* Sets the library's option to the field; the strings stay the field's. */
void cli_setting_fill(const cli_setting *setting, const void *values, void *options);
/* Resets the field to not set: zero. */
void cli_setting_done(const cli_setting *setting, void *values);
/* The value as written in the file, passwords hidden; NULL: not set. malloc'ed. */
char *cli_setting_text(const cli_setting *setting, const void *values);

/* Whether it is "file:PATH" or "env:NAME", as pawl_secret_check() reads them. */
bool cli_secret_is_source(const char *text);

/* A copy with the password in a URL or in a libpq string replaced by "***". malloc'ed. */
char *cli_url_hide(const char *url);
/* The NAME of "env:NAME"; NULL: another source. */
const char *cli_secret_variable(const char *source);

#endif
