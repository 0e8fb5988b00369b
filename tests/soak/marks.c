/* tests/soak/marks.c - which messages a handler was called for, in a file that survives SIGKILL. */
#include "marks.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

bool marks_open(marks *m, const char *folder, const char *kind)
{
    char path[512];
    int size = snprintf(path, sizeof path, "%s/%s.marks", folder, kind);

    m->bytes = NULL;
    if (size < 0 || size >= (int)sizeof path)
        return false;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return false;
    if (ftruncate(fd, MARKS_MAX) == 0) {
        void *bytes = mmap(NULL, MARKS_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        m->bytes = bytes == MAP_FAILED ? NULL : bytes;
    }
    close(fd);
    return m->bytes != NULL;
}

void marks_add(const marks *m, int64_t number)
{
    if (number < 0 || number >= MARKS_MAX)
        return;
    if (__atomic_add_fetch(&m->bytes[number], 1, __ATOMIC_RELAXED) == 0)
        __atomic_store_n(&m->bytes[number], UINT8_MAX, __ATOMIC_RELAXED);
}
