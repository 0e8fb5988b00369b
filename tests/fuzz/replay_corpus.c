/* tests/fuzz/replay_corpus.c - runs a fuzzing target on the inputs that are kept, without a fuzzer.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "test.h"

#define INPUT_MAX (1 << 20)

/* In memory of exactly its size, so that a sanitizer sees a read beyond it. */
static void replay(const char *path)
{
    FILE *file = fopen(path, "re");
    uint8_t *input = malloc(INPUT_MAX);
    size_t size;

    if (!file || !input)
        test_fail("%s cannot be read", path);
    size = fread(input, 1, INPUT_MAX, file);
    fclose(file);
    uint8_t *exact = realloc(input, size ? size : 1);
    LLVMFuzzerTestOneInput(exact ? exact : input, size);
    free(exact ? exact : input);
}

PAWL_TEST(every_kept_input_is_survived)
{
    const char *folder = getenv("PAWL_FUZZ_CORPUS");
    DIR *directory = folder ? opendir(folder) : NULL;
    const struct dirent *entry;
    int count = 0;

    if (!directory)
        test_fail("PAWL_FUZZ_CORPUS must name the folder of inputs");
    while ((entry = readdir(directory))) {
        if (entry->d_name[0] == '.')
            continue;
        replay(test_note("%s/%s", folder, entry->d_name));
        count++;
    }
    closedir(directory);
    printf("# %d inputs\n", count);
    assert_true(count > 0);
}
