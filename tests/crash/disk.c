/* tests/crash/disk.c - files as operations that are certain or not. */
#include "disk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk_private.h"

#define NAMES 16

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

disk *disk_new(void)
{
    disk *d = must(calloc(1, sizeof *d));

    d->names = must(calloc(NAMES, sizeof *d->names));
    return d;
}

static void forget_ops(disk_file *file)
{
    for (size_t i = 0; i < file->op_count; i++)
        free(file->ops[i].data);
    file->op_count = 0;
}

void disk_free(disk *d)
{
    if (!d)
        return;
    while (d->files) {
        disk_file *file = d->files;

        d->files = file->next;
        forget_ops(file);
        free(file->ops);
        free(file->base.data);
        free(file);
    }
    for (size_t i = 0; i < d->name_count; i++)
        free(d->names[i].text);
    free(d->names);
    free(d);
}

static disk_name *find_name(disk *d, const char *name)
{
    for (size_t i = 0; i < d->name_count; i++) {
        if (strcmp(d->names[i].text, name) == 0)
            return &d->names[i];
    }
    return NULL;
}

static disk_file *new_file(disk *d)
{
    disk_file *file = must(calloc(1, sizeof *file));

    file->next = d->files;
    d->files = file;
    return file;
}

void disk_bytes_resize(disk_bytes *bytes, size_t size)
{
    if (size > bytes->room) {
        bytes->room = size * 2;
        bytes->data = must(realloc(bytes->data, bytes->room));
    }
    if (size > bytes->size)
        memset(bytes->data + bytes->size, 0, size - bytes->size);
    bytes->size = size;
}

/* False if there is no such file. */
static bool disk_load(disk_bytes *bytes, const char *path)
{
    struct stat about;
    int fd = open(path, O_RDONLY);

    if (fd < 0)
        return false;
    if (fstat(fd, &about) != 0)
        abort();
    disk_bytes_resize(bytes, (size_t)about.st_size);
    if (about.st_size > 0 && pread(fd, bytes->data, bytes->size, 0) != about.st_size)
        abort();
    close(fd);
    return true;
}

disk_file *disk_open(disk *d, const char *name, const char *path)
{
    disk_name *entry = find_name(d, name);

    if (entry && entry->now)
        return entry->now;
    if (entry) {
        entry->now = new_file(d);
        return entry->now;
    }
    if (d->name_count == NAMES)
        abort();
    entry = &d->names[d->name_count++];
    *entry = (disk_name){.text = must(strdup(name)), .now = new_file(d)};
    if (path && disk_load(&entry->now->base, path))
        entry->durable = entry->now;
    return entry->now;
}

static disk_op *add_op(disk *d, disk_file *file)
{
    if (file->op_count == file->op_room) {
        file->op_room = file->op_room ? file->op_room * 2 : 64;
        file->ops = must(realloc(file->ops, file->op_room * sizeof *file->ops));
    }
    disk_op *op = &file->ops[file->op_count++];
    *op = (disk_op){.sequence = ++d->sequence};
    return op;
}

void disk_write(disk *d, disk_file *file, const void *data, size_t size, int64_t offset)
{
    disk_op *op = add_op(d, file);

    op->kind = DISK_OP_WRITE;
    op->offset = (size_t)offset;
    op->size = size;
    op->data = must(malloc(size ? size : 1));
    memcpy(op->data, data, size);
}

void disk_truncate(disk *d, disk_file *file, int64_t size)
{
    disk_op *op = add_op(d, file);

    op->kind = DISK_OP_TRUNCATE;
    op->size = (size_t)size;
}

void disk_delete(disk *d, const char *name)
{
    disk_name *entry = find_name(d, name);

    if (entry)
        entry->now = NULL;
}

void disk_op_apply(const disk_op *op, disk_bytes *bytes)
{
    if (op->kind == DISK_OP_TRUNCATE) {
        disk_bytes_resize(bytes, op->size);
        return;
    }
    if (op->offset + op->size > bytes->size)
        disk_bytes_resize(bytes, op->offset + op->size);
    memcpy(bytes->data + op->offset, op->data, op->size);
}

/* An operation over a pending one stays behind it in the list, to keep their order. */
void disk_sync(disk_file *file)
{
    size_t certain = 0;

    for (size_t i = 0; i < file->op_count; i++) {
        if (file->ops[i].fate == DISK_OP_PENDING)
            file->ops[i].fate = DISK_OP_DURABLE;
    }
    while (certain < file->op_count && file->ops[certain].fate == DISK_OP_DURABLE) {
        disk_op_apply(&file->ops[certain], &file->base);
        free(file->ops[certain].data);
        certain++;
    }
    file->op_count -= certain;
    if (certain > 0 && file->op_count > 0)
        memmove(file->ops, file->ops + certain, file->op_count * sizeof *file->ops);
}

bool disk_sync_failed(disk_file *file)
{
    bool any = false;

    for (size_t i = 0; i < file->op_count; i++) {
        if (file->ops[i].fate == DISK_OP_PENDING) {
            file->ops[i].fate = DISK_OP_SYNC_FAILED;
            any = true;
        }
    }
    return any;
}

void disk_sync_directory(disk *d)
{
    for (size_t i = 0; i < d->name_count; i++)
        d->names[i].durable = d->names[i].now;
}
