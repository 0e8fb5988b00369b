/* tests/crash/crash_campaign.h - losing power at one operation after the other, and counting what
 * breaks.
 */
#ifndef PAWL_CRASH_CAMPAIGN_H
#define PAWL_CRASH_CAMPAIGN_H

#include "check_database.h"
#include "crash_vfs.h"

/* Deliberate faults, to show that the checks find them. */
typedef enum breakage {
    BREAK_NOTHING,
    BREAK_SYNC,        /* the disk says that it has synced, and has not */
    BREAK_SYNCHRONOUS, /* synchronous=OFF */
    BREAK_FENCE,       /* ack does not check the fence */
    BREAK_REAP,        /* reap does not count the attempt */
    BREAK_MARK,        /* fencing tokens are given out without setting any aside */
    BREAK_LEASE,       /* the release of a lease does not check the token */
    BREAK_DOUBT,       /* in doubt is taken for failed */
    BREAKAGE_COUNT
} breakage;
const char *breakage_name(breakage b);

/* One power cut: before which operation, and what it left. */
typedef struct crash_case {
    pawl_durability durability;
    breakage broken;
    long at;
    disk_loss loss;
    uint64_t seed;
    bool twice; /* and once more while the store is opened again */
} crash_case;

typedef struct crash_campaign {
    const char *directory; /* empty; used for everything */
    pawl_durability durability;
    breakage broken;
    long first; /* operations first, first + stride, ... */
    long stride;
    unsigned losses; /* bit set of 1u << DISK_...; 0: all of them, and the random ones twice */
    bool twice;      /* each operation once more with a second power cut */
    long enough;     /* stop after this many violations; 0: 10 */
} crash_campaign;

typedef struct crash_campaign_result {
    long operations; /* of the undisturbed scenario */
    long points;     /* images checked */
    long violations;
    char first[1024]; /* the first violation, with the case that shows it; or "" */
} crash_campaign_result;

void crash_campaign_run(const crash_campaign *c, crash_campaign_result *ret_result);
/* One case alone. False: `ret_text` says what is wrong. *ret_lost: the operation was reached. */
bool crash_campaign_run_case(const char *directory, const crash_case *what, bool *ret_lost,
                             char *ret_text, size_t size);

/* Write the files' paths into `ret_path`, with everything of that name removed before. */
void crash_campaign_clear(const char *directory, const char *name, char *ret_path, size_t size);

/* broken_sql.c: from here on statements are prepared with that condition removed. */
void broken_sql_set(breakage b);

#endif
