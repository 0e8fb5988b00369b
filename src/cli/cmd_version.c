/* src/cli/cmd_version.c - pawl version. */
#include <stdio.h>
#include <string.h>

#include <pawl/pawl.h>

#include "cli.h"
#include "fail.h"
#include "output.h"

/* An engine that is not built in says so before it looks for the database. Neither URL leads
 * anywhere: a database in memory, and a socket that cannot exist. */
static const struct {
    const char *name;
    const char *url;
} engines[] = {{"sqlite", "sqlite::memory:"}, {"postgres", "host=/dev/null/none dbname=none"}};

static bool built_in(const char *url)
{
    pawl_schema_info info;

    return pawl_schema_inspect(url, NULL, &info, NULL) != PAWL_E_UNSUPPORTED;
}

static pawl_status run(const cli_args *args, pawl_error *err)
{
    json_t *list = json_array();
    json_t *document;

    (void)err;
    for (size_t i = 0; i < CLI_COUNT(engines); i++)
        if (built_in(engines[i].url))
            json_array_append_new(list, json_string(engines[i].name));
    if (args->common.json) {
        document = json_object();
        cli_json_text(document, "program", PAWL_VERSION);
        cli_json_text(document, "library", pawl_version());
        json_object_set_new(document, "engines", list);
        cli_json_print(stdout, document);
        return PAWL_OK;
    }
    printf("pawl %s (library %s; engines:", PAWL_VERSION, pawl_version());
    for (size_t i = 0; i < json_array_size(list); i++)
        printf("%s %s", i > 0 ? "," : "", json_string_value(json_array_get(list, i)));
    puts(")");
    json_decref(list);
    return PAWL_OK;
}

const cli_verb cli_verb_version = {
    .name = "version",
    .usage = "",
    .summary = "the versions of program and library, and the engines built in",
    .about = "Prints the version this program was built as, the version of the library it runs "
             "with, and the database engines that library has.",
    .examples = "  pawl version\n  pawl version --json",
    .no_database = true,
    .run = run,
};
