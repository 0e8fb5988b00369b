/* bench/basics.h - what every part of the bench needs: giving up, time, memory, ids, the payload.
 */
#ifndef BENCH_BASICS_H
#define BENCH_BASICS_H

#include <stddef.h>
#include <stdint.h>

/* Print one line and end the program: a measurement has nothing to recover. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Zeroed; never NULL. */
void *allocate(size_t count, size_t size);

double seconds_now(void);  /* monotonic */
int64_t wall_us_now(void); /* microseconds since 1970 */

#define MESSAGE_ID_SIZE 16
/* A UUIDv7 of the time `us`; increasing within a thread as long as the times do not decrease. */
void message_id_make(int64_t us, uint8_t ret_id[MESSAGE_ID_SIZE]);

/* What every message carries. */
extern const char bench_payload[];
extern const size_t bench_payload_size;

/* Topics are called "bench.0", "bench.1" and so on, on both sides. */
#define TOPICS_MAX 1000
const char *topic_name(int number);

#define BATCH_MAX 1000
#define LEASE_MS 600000 /* no lease runs out while something is measured */

#endif
