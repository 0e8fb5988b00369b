/* src/server/response.c - what a request is answered with. */
#include "response.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"

#define ERROR_ROOM 4608

void pawli_response_done(pawli_answer *answer)
{
    free(answer->body);
    *answer = (pawli_answer){0};
}

static void write_body(pawli_answer *answer, const pawl_ack_content *content)
{
    PAWLI_AUTO(pawl_ack) ack = NULL;
    const char *text;

    free(answer->body);
    answer->body = NULL;
    answer->body_size = 0;
    if (pawl_ack_encode(content, &ack, NULL) != PAWL_OK)
        return;
    text = pawl_ack_text(ack, &answer->body_size);
    answer->body = malloc(answer->body_size + 1);
    if (answer->body)
        memcpy(answer->body, text, answer->body_size + 1);
    else
        answer->body_size = 0;
}

void pawli_response_acknowledge(pawli_answer *answer, bool duplicate, const void *payload,
                                size_t size)
{
    pawl_ack_content content = PAWL_ACK_CONTENT_INIT;

    content.acknowledged = true;
    content.duplicate = duplicate;
    content.payload = payload;
    content.payload_size = size;
    answer->status = 200;
    answer->duplicate = duplicate;
    write_body(answer, &content);
    /* Without its body it would be no acknowledgement: the sender asks again, and gets it. */
    if (!answer->body)
        answer->status = 503;
}

void pawli_response_reject(pawli_answer *answer, int status, const char *format, ...)
{
    pawl_ack_content content = PAWL_ACK_CONTENT_INIT;
    char error[ERROR_ROOM];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(error, sizeof error, format, arguments);
    va_end(arguments);
    content.error = error;
    answer->status = status;
    write_body(answer, &content);
}
