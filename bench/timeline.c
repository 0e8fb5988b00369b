/* bench/timeline.c - when each message was sent, and when it arrived, for two processes to see. */
#include "timeline.h"

#include <stdlib.h>

#include "basics.h"

int timeline_note(timeline *self, int number, double woken, double started)
{
    if (number < 0 || number >= self->count || self->started[number] > 0)
        die("message %d came twice, or was never sent", number);
    self->woken[number] = woken;
    self->started[number] = started;
    return atomic_fetch_add(&self->received, 1) + 1 == self->count;
}

void durations_add(durations *self, const timeline *t, const double *end, int first)
{
    if (self->count + t->count > self->room) {
        self->room = 2 * (self->count + t->count);
        self->values = realloc(self->values, (size_t)self->room * sizeof *self->values);
        if (!self->values)
            die("out of memory");
    }
    for (int i = first; i < t->count; i++)
        if (end[i] > 0)
            self->values[self->count++] = (end[i] - t->sent[i]) * 1000;
}

static int timeline_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The smallest value that at least this share of all values does not exceed. */
static double value_at(const durations *self, double share)
{
    int place = (int)(share * self->count);

    if ((double)place < share * self->count)
        place++;
    return self->values[place > 0 ? place - 1 : 0];
}

spread durations_spread(durations *self)
{
    if (self->count == 0)
        return (spread){0};
    qsort(self->values, (size_t)self->count, sizeof *self->values, timeline_compare);
    return (spread){value_at(self, 0.5), value_at(self, 0.9), value_at(self, 0.99),
                    self->values[self->count - 1], self->count};
}

void durations_free(durations *self)
{
    free(self->values);
    *self = (durations){0};
}
