/*
 * tests/soak/leak.c - loaded before the C library: every connection that is accepted costs one
 * descriptor more, which is never closed. Wrong on purpose.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>

typedef int (*accept_call)(int fd, void *address, void *size, int flags);

/* By the name that the linker sees: the C library declares it with a type of its own. */
__attribute__((visibility("default"))) int leaking_accept(int fd, void *address, void *size,
                                                          int flags) __asm__("accept4");

int leaking_accept(int fd, void *address, void *size, int flags)
{
    void *symbol = dlsym(RTLD_NEXT, "accept4");
    accept_call real;

    memcpy(&real, &symbol, sizeof real); /* ISO C has no cast from an object to a function */
    int accepted = real(fd, address, size, flags);
    if (accepted >= 0)
        (void)open("/dev/null", O_RDONLY | O_CLOEXEC);
    return accepted;
}
