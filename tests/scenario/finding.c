/* tests/scenario/finding.c - the first thing that was not as it should be, as a sentence. */
#include "finding.h"

#include <stdarg.h>
#include <stdio.h>

bool finding_say(finding *wrong, const char *format, ...)
{
    va_list arguments;

    if (wrong->found)
        return false;
    wrong->found = true;
    va_start(arguments, format);
    vsnprintf(wrong->text, sizeof wrong->text, format, arguments);
    va_end(arguments);
    return false;
}
