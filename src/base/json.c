/* src/base/json.c - checks objects, writes and reads lists of texts. */
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

static void json_write_text(pawli_buffer *json, const char *text)
{
    pawli_buffer_append(json, "\"", 1);
    while (*text) {
        size_t plain = 0;
        while ((unsigned char)text[plain] >= 0x20 && text[plain] != '"' && text[plain] != '\\')
            plain++;
        pawli_buffer_append(json, text, plain);
        text += plain;
        if (*text)
            pawli_buffer_format(json, "\\u%04x", (unsigned)(unsigned char)*text++);
    }
    pawli_buffer_append(json, "\"", 1);
}

void pawli_json_write_texts(pawli_buffer *json, const char *const *items, size_t count)
{
    pawli_buffer_append(json, "[", 1);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            pawli_buffer_append(json, ",", 1);
        json_write_text(json, items[i]);
    }
    pawli_buffer_append(json, "]", 1);
}

bool pawli_json_read_texts(const char *text, size_t size, pawli_on_text *on_text, void *context)
{
    json_error_t problem;
    json_t *list = json_loadb(text, size, 0, &problem);

    if (!list)
        return json_error_code(&problem) != json_error_out_of_memory;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (json_is_string(item))
            on_text(context, json_string_value(item), json_string_length(item));
    }
    json_decref(list);
    return true;
}
