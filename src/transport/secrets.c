/* src/transport/secrets.c - the secrets of one peer: reading them from files and variables, and
 * wiping them. */
#include "secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base64.h"
#include "fail.h"
#include "hmac.h"
#include "signature.h"

pawl_status pawli_secrets_new(pawli_secrets **ret_secrets, pawl_error *err)
{
    pawli_secrets *secrets;

    if (!ret_secrets)
        return pawli_fail(err, PAWL_E_INVALID, "ret_secrets must not be NULL");
    secrets = calloc(1, sizeof *secrets);
    if (!secrets)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for secrets");
    *ret_secrets = secrets;
    return PAWL_OK;
}

void pawli_secrets_free(pawli_secrets *secrets)
{
    if (!secrets)
        return;
    for (size_t i = 0; i < secrets->count; i++) {
        pawli_wipe(secrets->items[i].bytes, secrets->items[i].size);
        free(secrets->items[i].bytes);
    }
    free(secrets);
}

size_t pawli_secrets_count(const pawli_secrets *secrets)
{
    return secrets ? secrets->count : 0;
}

/* `where` identifies the secret in messages without revealing it. */
static pawl_status secrets_add(pawli_secrets *secrets, const char *where, const void *bytes,
                               size_t size, pawl_error *err)
{
    uint8_t *copy;

    if (size < PAWL_SECRET_MIN || size > PAWL_SECRET_MAX)
        return pawli_fail(err, PAWL_E_INVALID,
                          "%s has %zu bytes; a secret must have %d to %d: create one with `openssl "
                          "rand -base64 32`",
                          where, size, PAWL_SECRET_MIN, PAWL_SECRET_MAX);
    if (secrets->count == PAWL_SECRETS_MAX)
        return pawli_fail(
            err, PAWL_E_INVALID,
            "%s is one too many: a peer can have at most %d secrets; remove those no longer in use",
            where, PAWL_SECRETS_MAX);
    copy = malloc(size);
    if (!copy)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a secret");
    memcpy(copy, bytes, size);
    secrets->items[secrets->count++] = (pawli_secret){copy, size};
    return PAWL_OK;
}

pawl_status pawli_secrets_add(pawli_secrets *secrets, const void *bytes, size_t size,
                              pawl_error *err)
{
    if (!secrets || !bytes)
        return pawli_fail(err, PAWL_E_INVALID, "secrets and bytes must not be NULL");
    return secrets_add(secrets, "the secret", bytes, size, err);
}

/* Adds the text of a file or a variable: trailing line ends are stripped, "base64:" is decoded.
 * Modifies `text`. */
static pawl_status add_text(pawli_secrets *secrets, const char *where, char *text, size_t size,
                            pawl_error *err)
{
    static const char prefix[] = "base64:";
    const size_t skip = sizeof prefix - 1;

    while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == '\r'))
        size--;
    if (size < skip || memcmp(text, prefix, skip) != 0)
        return secrets_add(secrets, where, text, size, err);
    /* Decodes in place: the three bytes written never pass the four read. */
    if (!pawli_base64_decode(text + skip, size - skip, text, &size))
        return pawli_fail(err, PAWL_E_INVALID,
                          "%s begins with \"base64:\", but the rest is not valid base64", where);
    return secrets_add(secrets, where, text, size, err);
}

/* Opens the file before checking it, so that it cannot be replaced in between. */
static pawl_status secrets_open_file(const char *place, const char *path, int *ret_fd,
                                     pawl_error *err)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return pawli_fail_code(err, PAWL_E_NOT_FOUND, errno,
                               "the secret %s does not exist: create the file, or correct the path",
                               place);
    if (fd < 0)
        return pawli_fail_code(err, errno == EACCES ? PAWL_E_DENIED : PAWL_E_IO, errno,
                               "the secret %s cannot be opened: %s", place, strerror(errno));
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(fd);
        return pawli_fail(err, PAWL_E_INVALID, "the secret %s is not a regular file", place);
    }
    if (status.st_mode & (S_IRWXO & ~S_IXOTH)) {
        close(fd);
        return pawli_fail(err, PAWL_E_DENIED,
                          "the secret %s is accessible by all users: run chmod o-rwx on it", place);
    }
    *ret_fd = fd;
    return PAWL_OK;
}

static pawl_status secrets_load_file(pawli_secrets *secrets, const char *place, const char *path,
                                     pawl_error *err)
{
    /* Fits the base64 of the longest secret and a line end; one more byte shows that it is too
     * long. */
    char text[(PAWL_SECRET_MAX + 2) / 3 * 4 + 64];
    size_t size = 0;
    int fd = -1;
    pawl_status st = secrets_open_file(place, path, &fd, err);

    if (st != PAWL_OK)
        return st;
    while (size < sizeof text) {
        ssize_t got = read(fd, text + size, sizeof text - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            st = pawli_fail_code(err, PAWL_E_IO, errno, "the secret %s cannot be read: %s", place,
                                 strerror(errno));
        if (got <= 0)
            break;
        size += (size_t)got;
    }
    close(fd);
    if (st == PAWL_OK)
        st = add_text(secrets, place, text, size, err);
    pawli_wipe(text, sizeof text);
    return st;
}

static pawl_status load_variable(pawli_secrets *secrets, const char *place, const char *name,
                                 pawl_error *err)
{
    const char *value = getenv(name);
    size_t size = value ? strlen(value) : 0;
    char *copy;
    pawl_status st;

    if (!value)
        return pawli_fail(
            err, PAWL_E_NOT_FOUND,
            "the secret %s does not exist: set the variable before starting the program", place);
    copy = malloc(size + 1);
    if (!copy)
        return pawli_fail(err, PAWL_E_NOMEM, "out of memory for a secret");
    memcpy(copy, value, size + 1);
    st = add_text(secrets, place, copy, size, err);
    pawli_wipe(copy, size);
    free(copy);
    return st;
}

pawl_status pawli_secrets_load(pawli_secrets *secrets, const char *place, pawl_error *err)
{
    if (!secrets || !place)
        return pawli_fail(err, PAWL_E_INVALID, "secrets and place must not be NULL");
    if (strncmp(place, "file:", 5) == 0 && place[5])
        return secrets_load_file(secrets, place, place + 5, err);
    if (strncmp(place, "env:", 4) == 0 && place[4])
        return load_variable(secrets, place, place + 4, err);
    /* The value is not repeated here: it may be the secret itself. */
    return pawli_fail(
        err, PAWL_E_INVALID,
        "a secret must be given as \"file:PATH\" or \"env:NAME\", not as the secret itself");
}

pawl_status pawl_secret_check(const char *place, pawl_error *err)
{
    pawli_secrets *secrets = NULL;
    pawl_status st = pawli_secrets_new(&secrets, err);

    if (st == PAWL_OK)
        st = pawli_secrets_load(secrets, place, err);
    pawli_secrets_free(secrets);
    return st;
}
