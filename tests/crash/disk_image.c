/* tests/crash/disk_image.c - the contents of a disk after a power loss. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "disk_private.h"
#include "prng.h"

#define SECTOR 512

static const char *const loss_names[DISK_LOSS_COUNT] = {
    [DISK_DROPPED] = "dropped", [DISK_KEPT] = "kept",       [DISK_TORN] = "torn",
    [DISK_SUBSET] = "subset",   [DISK_SECTORS] = "sectors", [DISK_SCRIBBLED] = "scribbled",
};

const char *disk_loss_name(disk_loss loss)
{
    return loss < DISK_LOSS_COUNT ? loss_names[loss] : "?";
}

typedef struct fate {
    disk_loss loss;
    uint64_t random;
    uint64_t last; /* the newest write on the whole disk */
} fate;

static bool coin(fate *f)
{
    return prng_next(&f->random) & 1;
}

/* Only bytes of the write itself change: the VFS tells SQLite that it may overwrite safely beyond
 * them. */
static void apply_sectors(const disk_op *op, disk_bytes *bytes, fate *f)
{
    for (size_t from = op->offset; from < op->offset + op->size;) {
        size_t to = (from / SECTOR + 1) * SECTOR;

        if (to > op->offset + op->size)
            to = op->offset + op->size;
        disk_op piece = {.kind = DISK_OP_WRITE,
                         .offset = from,
                         .size = to - from,
                         .data = op->data + (from - op->offset)};
        if (coin(f)) {
            disk_op_apply(&piece, bytes);
        } else if (f->loss == DISK_SCRIBBLED && coin(f)) {
            uint8_t rubbish[SECTOR];
            for (size_t i = 0; i < piece.size; i++)
                rubbish[i] = (uint8_t)prng_next(&f->random);
            piece.data = rubbish;
            disk_op_apply(&piece, bytes);
        }
        from = to;
    }
}

static void apply_uncertain(const disk_op *op, disk_bytes *bytes, fate *f)
{
    bool write = op->kind == DISK_OP_WRITE;

    switch (f->loss) {
    case DISK_DROPPED:
    case DISK_LOSS_COUNT:
        return;
    case DISK_KEPT:
        break;
    case DISK_TORN:
        if (write && op->sequence == f->last) {
            apply_sectors(op, bytes, f);
            return;
        }
        break;
    case DISK_SUBSET:
        if (!coin(f))
            return;
        break;
    case DISK_SECTORS:
    case DISK_SCRIBBLED:
        if (write && coin(f)) {
            apply_sectors(op, bytes, f);
            return;
        }
        if (!coin(f))
            return;
        break;
    }
    disk_op_apply(op, bytes);
}

static void shuffle(const disk_op **ops, size_t count, fate *f)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)(prng_next(&f->random) % i);
        const disk_op *swapped = ops[i - 1];

        ops[i - 1] = ops[other];
        ops[other] = swapped;
    }
}

/* Uncertain writes may reach the disk in any order, but none after a later one that is certain. */
static void apply_all(const disk_file *file, disk_bytes *bytes, fate *f)
{
    const disk_op **ops = calloc(file->op_count + 1, sizeof *ops);
    size_t tail = 0;

    if (!ops)
        abort();
    for (size_t i = 0; i < file->op_count; i++) {
        ops[i] = &file->ops[i];
        if (ops[i]->fate == DISK_OP_DURABLE)
            tail = i + 1;
    }
    if (f->loss == DISK_SECTORS || f->loss == DISK_SCRIBBLED)
        shuffle(ops + tail, file->op_count - tail, f);
    for (size_t i = 0; i < file->op_count; i++) {
        if (ops[i]->fate == DISK_OP_DURABLE)
            disk_op_apply(ops[i], bytes);
        else
            apply_uncertain(ops[i], bytes, f);
    }
    free(ops);
}

static const disk_file *choose_file(const disk_name *name, fate *f)
{
    switch (f->loss) {
    case DISK_DROPPED:
    case DISK_LOSS_COUNT:
        return name->durable;
    case DISK_KEPT:
    case DISK_TORN:
        return name->now;
    case DISK_SUBSET:
    case DISK_SECTORS:
    case DISK_SCRIBBLED:
        break;
    }
    return coin(f) ? name->now : name->durable;
}

static bool store_file(const char *directory, const char *name, const disk_bytes *bytes)
{
    char path[1024];
    bool done;

    snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    done = bytes->size == 0 || write(fd, bytes->data, bytes->size) == (ssize_t)bytes->size;
    return close(fd) == 0 && done;
}

static uint64_t newest_write(const disk *d)
{
    uint64_t newest = 0;

    for (const disk_file *file = d->files; file; file = file->next) {
        const disk_op *last = file->op_count ? &file->ops[file->op_count - 1] : NULL;

        if (last && last->sequence > newest)
            newest = last->sequence;
    }
    return newest;
}

bool disk_image(const disk *d, const char *directory, disk_loss loss, uint64_t seed)
{
    fate f = {loss, seed, newest_write(d)};
    bool done = true;

    for (size_t i = 0; i < d->name_count && done; i++) {
        const disk_file *file = choose_file(&d->names[i], &f);
        disk_bytes bytes = {0};

        if (!file)
            continue;
        disk_bytes_resize(&bytes, file->base.size);
        if (file->base.size > 0)
            memcpy(bytes.data, file->base.data, file->base.size);
        apply_all(file, &bytes, &f);
        done = store_file(directory, d->names[i].text, &bytes);
        free(bytes.data);
    }
    return done;
}
