/* tests/crash/disk.h - durable contents, and the effects of a power loss on the rest. */
#ifndef PAWL_CRASH_DISK_H
#define PAWL_CRASH_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A directory of files. Written data is durable once its file was synced, a name once the
 * directory was. Until then a power cut may keep it, drop it or keep a part of it, in any order.
 * Not thread-safe: crash_vfs.c locks. Running out of memory ends the program.
 */
typedef struct disk disk;
typedef struct disk_file disk_file; /* the file of a name; valid as long as the disk */

/* The contents after a power loss. */
typedef enum disk_loss {
    DISK_DROPPED,   /* nothing that was not synced */
    DISK_KEPT,      /* everything, the operation that power was lost in included */
    DISK_TORN,      /* everything, but only some sectors of the last write */
    DISK_SUBSET,    /* any of the writes */
    DISK_SECTORS,   /* any sectors of any of the writes, in any order */
    DISK_SCRIBBLED, /* the same, and some of the others contain garbage */
    DISK_LOSS_COUNT
} disk_loss;
const char *disk_loss_name(disk_loss loss);

disk *disk_new(void);
void disk_free(disk *d); /* NULL is fine */

/*
 * The file of that name; made if there is none. `path` is NULL for a file that was made just now;
 * else the first time the name is seen, what is there already is certain.
 */
disk_file *disk_open(disk *d, const char *name, const char *path);
void disk_write(disk *d, disk_file *file, const void *data, size_t size, int64_t offset);
void disk_truncate(disk *d, disk_file *file, int64_t size);
void disk_delete(disk *d, const char *name);

void disk_sync(disk_file *file);
/*
 * The kernel reports a failed write-back once and takes the pages for clean: what was written until
 * now is never certain, whatever a later sync says, unless it is written again. False: there was
 * nothing to sync.
 */
bool disk_sync_failed(disk_file *file);
void disk_sync_directory(disk *d);

/* Write into `directory` what would be found. The same seed makes the same image. */
bool disk_image(const disk *d, const char *directory, disk_loss loss, uint64_t seed);

#endif
