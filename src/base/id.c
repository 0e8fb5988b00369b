/* src/base/id.c - identifiers: work ids, owners, UUIDs and their text form. */
#include <pawl/id.h>

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "platform.h"
#include "uuid.h"

/* ---- public id types ---- */

static pawl_status id_parse(const char *text, const char *what, uint8_t ret_bytes[16],
                            pawl_error *err)
{
    if (!pawli_uuid_parse(text, ret_bytes))
        return pawli_fail(err, PAWL_E_INVALID,
                          "%s is not a UUID such as 0192d3c4-5e6f-7a8b-9c0d-1e2f3a4b5c6d", what);
    return PAWL_OK;
}

pawl_uuid pawl_uuid_new(void)
{
    pawl_uuid id;

    pawli_uuid_new(id.bytes);
    return id;
}

pawl_owner pawl_owner_new(void)
{
    pawl_owner owner;

    pawli_uuid_new(owner.bytes);
    return owner;
}

void pawl_uuid_format(pawl_uuid id, char ret_text[PAWL_UUID_TEXT_SIZE])
{
    pawli_uuid_format(id.bytes, ret_text);
}

void pawl_owner_format(pawl_owner owner, char ret_text[PAWL_UUID_TEXT_SIZE])
{
    pawli_uuid_format(owner.bytes, ret_text);
}

pawl_status pawl_uuid_parse(const char *text, pawl_uuid *ret_id, pawl_error *err)
{
    if (!ret_id)
        return pawli_fail(err, PAWL_E_INVALID, "ret_id must not be NULL");
    return id_parse(text, "the message id", ret_id->bytes, err);
}

pawl_status pawl_owner_parse(const char *text, pawl_owner *ret_owner, pawl_error *err)
{
    if (!ret_owner)
        return pawli_fail(err, PAWL_E_INVALID, "ret_owner must not be NULL");
    return id_parse(text, "the owner", ret_owner->bytes, err);
}

bool pawl_uuid_is_zero(pawl_uuid id)
{
    return pawli_uuid_is_zero(id.bytes);
}

bool pawl_uuid_equal(pawl_uuid a, pawl_uuid b)
{
    return memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0;
}

bool pawl_owner_is_zero(pawl_owner owner)
{
    return pawli_uuid_is_zero(owner.bytes);
}

bool pawl_owner_equal(pawl_owner a, pawl_owner b)
{
    return memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0;
}

/* ---- UUIDs ---- */

/*
 * The counter makes the ids of one process strictly increasing, which keeps inserts at the
 * right-hand edge of the index on message ids.
 */
#define COUNTER_BITS 42
#define COUNTER_MAX ((UINT64_C(1) << COUNTER_BITS) - 1)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_ms;
static uint64_t counter;

/*
 * A buffer of random numbers, because asking the kernel for each id would cost more than the id.
 * A child process must not use its parent's buffer.
 */
#define STOCK 64
static uint32_t stock[STOCK];
static size_t stock_left;
static pid_t stock_owner;

/* The lock is held. */
static uint32_t take_random(void)
{
    pid_t me = getpid();

    if (stock_left == 0 || stock_owner != me) {
        pawli_random_bytes(stock, sizeof stock);
        stock_left = STOCK;
        stock_owner = me;
    }
    return stock[--stock_left];
}

/* The counter starts in the lower half of its range, so that a millisecond has room for 2^41 ids.
 */
static uint64_t new_counter(void)
{
    return ((uint64_t)take_random() << 32 | take_random()) & (COUNTER_MAX >> 1);
}

void pawli_uuid_new(uint8_t ret_bytes[16])
{
    uint64_t ms = (uint64_t)(pawli_wall_now().us / 1000);
    uint64_t count;
    uint32_t random;

    pthread_mutex_lock(&lock);
    if (ms > last_ms) {
        last_ms = ms;
        counter = new_counter();
    } else if (counter < COUNTER_MAX) {
        counter++;
    } else { /* the clock stands still: use a later millisecond */
        last_ms++;
        counter = new_counter();
    }
    ms = last_ms;
    count = counter;
    random = take_random();
    pthread_mutex_unlock(&lock);

    for (int i = 0; i < 6; i++)
        ret_bytes[i] = (uint8_t)(ms >> (40 - 8 * i));
    /* 12 counter bits beside the version, 30 beside the variant. */
    ret_bytes[6] = (uint8_t)(0x70 | (count >> 38));
    ret_bytes[7] = (uint8_t)(count >> 30);
    ret_bytes[8] = (uint8_t)(0x80 | ((count >> 24) & 0x3f));
    ret_bytes[9] = (uint8_t)(count >> 16);
    ret_bytes[10] = (uint8_t)(count >> 8);
    ret_bytes[11] = (uint8_t)count;
    memcpy(ret_bytes + 12, &random, 4);
}

void pawli_uuid_format(const uint8_t bytes[16], char ret_text[37])
{
    static const char digits[] = "0123456789abcdef";
    char *at = ret_text;

    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *at++ = '-';
        *at++ = digits[bytes[i] >> 4];
        *at++ = digits[bytes[i] & 15];
    }
    *at = '\0';
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool pawli_uuid_parse(const char *text, uint8_t ret_bytes[16])
{
    uint8_t bytes[16];
    const char *at = text;

    if (!text || strlen(text) != 36)
        return false;
    for (int i = 0; i < 16; i++) {
        if ((i == 4 || i == 6 || i == 8 || i == 10) && *at++ != '-')
            return false;
        int high = digit_value(at[0]);
        int low = high < 0 ? -1 : digit_value(at[1]);
        if (low < 0)
            return false;
        bytes[i] = (uint8_t)(high << 4 | low);
        at += 2;
    }
    memcpy(ret_bytes, bytes, sizeof bytes);
    return true;
}

bool pawli_uuid_is_zero(const uint8_t bytes[16])
{
    static const uint8_t zero[16];

    return memcmp(bytes, zero, sizeof zero) == 0;
}
