/* src/cli/config/setting_test.c - the table of settings, and values of every kind. */
#include <string.h>

#include "config.h"
#include "scope.h"
#include "setting.h"
#include "test.h"
#include "units.h"

/* Those of the library, too, are in range and read back as they are shown. */
static void assert_defaults_can_be_written(const cli_part *part)
{
    for (size_t i = 0; i < part->section->count; i++) {
        const cli_setting *setting = &part->section->settings[i];
        PAWLI_AUTO_FREE void *values = cli_alloc(1, part->section->size);
        PAWLI_AUTO_FREE char *text = cli_setting_text(setting, part->values);
        PAWLI_AUTO_FREE char *problem = NULL;
        PAWLI_AUTO_FREE char *again = NULL;
        if (!text)
            continue;
        if (!cli_setting_store(setting, values, text, &problem))
            test_fail("[%s] %s %s", part->section->name, setting->key, problem);
        again = cli_setting_text(setting, values);
        assert_string_equal(text, again);
        cli_setting_done(setting, values);
    }
}

PAWL_TEST(every_default_is_one_that_may_be_written)
{
    cli_config *config = cli_config_new();

    for (size_t i = 0; i < CLI_SECTION_COUNT; i++)
        if (cli_sections[i].named)
            cli_config_part(config, &cli_sections[i], "x");
    if (config->problem_count > 0)
        test_fail("%s", config->problems[0]);
    for (size_t i = 0; i < config->part_count; i++)
        assert_defaults_can_be_written(&config->parts[i]);
    cli_config_free(config);
}

static bool in_two_places(size_t offset, const cli_section *section, size_t upto)
{
    for (size_t i = 0; i < upto; i++)
        if (section->settings[i].offset == offset)
            return true;
    return false;
}

PAWL_TEST(no_two_settings_share_a_field_a_key_or_a_flag)
{
    for (size_t i = 0; i < CLI_SECTION_COUNT; i++)
        for (size_t k = 0; k < cli_sections[i].count; k++) {
            const cli_setting *setting = &cli_sections[i].settings[k];
            if (in_two_places(setting->offset, &cli_sections[i], k))
                test_fail("[%s] %s uses the field of another", cli_sections[i].name, setting->key);
            assert_true(setting->offset < cli_sections[i].size);
            assert_non_null(setting->help);
            assert_true(!cli_sections[i].named || !setting->flag);
            for (size_t j = 0; j < k; j++)
                assert_string_not_equal(setting->key, cli_sections[i].settings[j].key);
        }
}

PAWL_TEST(every_flag_is_among_the_options)
{
    size_t count = 0;
    size_t flags = 0;
    const cli_option *options = cli_config_options(&count);
    cli_config_flags given = {{NULL}};

    for (size_t i = 0; i < CLI_SECTION_COUNT; i++)
        for (size_t k = 0; k < cli_sections[i].count; k++)
            flags += cli_sections[i].settings[k].flag != NULL;
    assert_int_equal(flags - 4, count); /* less the common four */
    assert_true(count <= sizeof given.settings / sizeof given.settings[0]);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(options[i].name, options[k].name);
}

PAWL_TEST(sizes_are_read_and_written)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } good[] = {{"0", 0},       {"512", 512},      {"1KiB", 1024},     {"64KiB", 65536},
                {"1536", 1536}, {"1MiB", 1048576}, {"3GiB", 3L << 30}, {"1025", 1025}};
    static const char *const bad[] = {
        "", "x", "1MB", "1k", "-1", "1 KiB", "KiB", "1.5MiB", "99999999999999999999"};
    int64_t bytes = 7;
    char text[CLI_WHEN_SIZE];

    for (size_t i = 0; i < PAWLI_COUNT(good); i++) {
        assert_true(cli_size_parse(good[i].text, &bytes));
        assert_int_equal(good[i].bytes, bytes);
        assert_string_equal(good[i].text, cli_size_text(bytes, text));
    }
    for (size_t i = 0; i < PAWLI_COUNT(bad); i++)
        if (cli_size_parse(bad[i], &bytes))
            test_fail("'%s' was read as a size", bad[i]);
}

PAWL_TEST(a_list_grows_and_a_wrong_word_leaves_it_as_it_was)
{
    const cli_setting setting = {.key = "x", .kind = CLI_VALUE_SECRETS};
    cli_texts list = {NULL, 0};
    char *problem = NULL;
    char *text;

    assert_true(cli_setting_store(&setting, &list, " file:/a ,env:B", &problem));
    assert_true(cli_setting_store(&setting, &list, "env:C", &problem));
    assert_false(cli_setting_store(&setting, &list, "env:D, hunter2hunter2hunter2", &problem));
    assert_null(strstr(problem, "hunter2"));
    assert_int_equal(3, list.count);
    text = cli_setting_text(&setting, &list);
    assert_string_equal("file:/a, env:B, env:C", text);
    cli_setting_done(&setting, &list);
    assert_int_equal(0, list.count);
    free(problem);
    free(text);
}
