/* tests/crash/disk_private.h - the structure of a disk; for disk.c and disk_image.c. */
#ifndef PAWL_CRASH_DISK_PRIVATE_H
#define PAWL_CRASH_DISK_PRIVATE_H

#include "disk.h"

typedef struct disk_bytes {
    uint8_t *data;
    size_t size;
    size_t room;
} disk_bytes;

typedef enum disk_op_kind { DISK_OP_WRITE, DISK_OP_TRUNCATE } disk_op_kind;

typedef enum disk_op_state {
    DISK_OP_PENDING,    /* the next sync makes it certain */
    DISK_OP_DURABLE,    /* still listed because an uncertain one is before it */
    DISK_OP_SYNC_FAILED /* a sync failed over it */
} disk_op_state;

typedef struct disk_op {
    disk_op_kind kind;
    disk_op_state fate;
    uint64_t sequence; /* over all files */
    size_t offset;
    size_t size; /* of the data, or what the file is cut to */
    uint8_t *data;
} disk_op;

struct disk_file {
    disk_bytes base; /* certain */
    disk_op *ops;    /* since, in order */
    size_t op_count;
    size_t op_room;
    disk_file *next;
};

typedef struct disk_name {
    char *text;
    disk_file *now;     /* NULL: deleted */
    disk_file *durable; /* NULL: not there after a power cut */
} disk_name;

struct disk {
    disk_name *names;
    size_t name_count;
    disk_file *files; /* all of them, also those without a name */
    uint64_t sequence;
};

/* New bytes are zero. */
void disk_bytes_resize(disk_bytes *bytes, size_t size);
void disk_op_apply(const disk_op *op, disk_bytes *bytes);

#endif
