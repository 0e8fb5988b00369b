/* src/base/json.c - checks that a text is a JSON object. */
#include "json.h"

#include <jansson.h>

#include "fail.h"

pawl_status pawli_json_check_object(const char *text, size_t size, const char *what,
                                    pawl_error *err)
{
    json_error_t problem;
    json_t *value = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);

    if (!value && json_error_code(&problem) == json_error_out_of_memory)
        return pawli_fail(err, PAWL_E_NOMEM, "%s could not be checked: out of memory", what);
    if (!value) /* jansson's own message may quote the input, so give only the position */
        return pawli_fail(err, PAWL_E_INVALID,
                          "%s must be a JSON object: line %d, column %d is not valid JSON", what,
                          problem.line, problem.column);
    bool is_object = json_is_object(value);
    json_decref(value);
    if (!is_object)
        return pawli_fail(err, PAWL_E_INVALID,
                          "%s must be a JSON object, such as {\"key\":\"value\"}", what);
    return PAWL_OK;
}
