/* src/cli/config/config_file.c - the INI file, line by line. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "scope.h"
#include "terminal_text.h"

#define LINE_MAX_BYTES ((size_t)8 * 1024)
#define FILE_MAX_BYTES ((size_t)1024 * 1024)

typedef struct file_reader {
    cli_config *config;
    size_t part; /* index of the section that the line is in */
    bool in_section;
    bool skipping; /* the section is unknown: its lines would only repeat that */
    int line;
} file_reader;

static const cli_section *find_section(const char *name, size_t length)
{
    for (size_t i = 0; i < CLI_SECTION_COUNT; i++)
        if (strlen(cli_sections[i].name) == length &&
            strncmp(cli_sections[i].name, name, length) == 0)
            return &cli_sections[i];
    return NULL;
}

static void unknown_section(file_reader *in, const char *name)
{
    cli_suggestion nearest = {name, NULL, 0};

    for (size_t i = 0; i < CLI_SECTION_COUNT; i++)
        cli_suggest(&nearest, cli_sections[i].name);
    cli_config_problem(in->config, "%s:%d: unknown section [%s]%s%s%s", in->config->path, in->line,
                       name, nearest.best ? "; did you mean [" : "",
                       nearest.best ? nearest.best : "", nearest.best ? "]?" : "");
}

/* "[service NAME]" without its brackets: blanks around both words are left out. */
static void enter_section(file_reader *in, char *heading)
{
    size_t length = strcspn(heading, " \t");
    const cli_section *section = find_section(heading, length);
    const char *name = heading + length + strspn(heading + length, " \t");
    bool named = *name != '\0';

    in->skipping = true;
    if (!section) {
        heading[length] = '\0';
        unknown_section(in, heading);
    } else if (named && !section->named) {
        cli_config_problem(in->config, "%s:%d: [%s] takes no name; remove '%s'", in->config->path,
                           in->line, section->name, name);
    } else if (!named && section->named) {
        cli_config_problem(in->config, "%s:%d: [%s] needs a name: [%s %s]", in->config->path,
                           in->line, section->name, section->name, section->named);
    } else {
        cli_part *part = cli_config_part(in->config, section, name);
        if (part->line > 0)
            cli_config_problem(in->config, "%s:%d: duplicate section [%s]; it begins in line %d",
                               in->config->path, in->line, heading, part->line);
        part->line = in->line;
        in->part = (size_t)(part - in->config->parts);
        in->skipping = false;
    }
    in->in_section = true;
}

static void read_heading(file_reader *in, char *line)
{
    char *end = strchr(line, ']');
    char *rest = end ? end + 1 + strspn(end + 1, " \t") : NULL;

    if (!end || (*rest != '\0' && *rest != ';' && *rest != '#')) {
        cli_config_problem(in->config, "%s:%d: invalid section heading; use a form like [server]",
                           in->config->path, in->line);
        in->skipping = true;
        in->in_section = true;
        return;
    }
    while (end > line + 1 && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *end = '\0';
    line += 1 + strspn(line + 1, " \t");
    enter_section(in, line);
}

static void unknown_key(file_reader *in, const cli_part *part, const char *key)
{
    cli_suggestion nearest = {key, NULL, 0};

    for (size_t i = 0; i < part->section->count; i++)
        cli_suggest(&nearest, part->section->settings[i].key);
    PAWLI_AUTO_FREE char *hint = cli_suggestion_text(&nearest);
    cli_config_problem(in->config, "%s:%d: unknown key '%s' in [%s]%s", in->config->path, in->line,
                       key, part->section->name, hint);
}

static void config_take_value(file_reader *in, const char *key, const char *value)
{
    cli_part *part = &in->config->parts[in->part];

    for (size_t i = 0; i < part->section->count; i++) {
        const cli_setting *setting = &part->section->settings[i];
        if (strcmp(setting->key, key) == 0) {
            cli_config_set(in->config, part, setting, value, (cli_origin){CLI_FROM_FILE, in->line});
            return;
        }
    }
    unknown_key(in, part, key);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Ends the text where a comment begins: a semicolon behind a blank, so that one in a command or a
 * URL stays. Blanks at the end go, too. */
static void cut_comment(char *text)
{
    char *end = text;

    while (*end && !(*end == ';' && end > text && is_blank(end[-1])))
        end++;
    while (end > text && is_blank(end[-1]))
        end--;
    *end = '\0';
}

/* "key = value" or "key: value"; false: it is neither. */
static bool read_value(file_reader *in, char *line)
{
    char *key_end;
    char *value;

    cut_comment(line);
    key_end = line + strcspn(line, "=:");
    if (*key_end == '\0' || key_end == line)
        return false;
    value = key_end + 1 + strspn(key_end + 1, " \t");
    while (is_blank(key_end[-1]))
        key_end--;
    *key_end = '\0';
    config_take_value(in, line, value);
    return true;
}

static void read_line(file_reader *in, char *line, size_t size)
{
    char *begin = line + strspn(line, " \t\r");

    if (!cli_text_printable(line, size)) {
        cli_config_problem(in->config, "%s:%d: the line is not valid UTF-8", in->config->path,
                           in->line);
    } else if (*begin == '\0' || *begin == ';' || *begin == '#') {
        return;
    } else if (size > LINE_MAX_BYTES) {
        cli_config_problem(in->config, "%s:%d: the line has %zu bytes; the maximum is %zu",
                           in->config->path, in->line, size, LINE_MAX_BYTES);
    } else if (*begin == '[') {
        read_heading(in, begin);
    } else if (!in->in_section) {
        cli_config_problem(in->config,
                           "%s:%d: a setting before the first section; add a heading such as "
                           "[server]",
                           in->config->path, in->line);
    } else if (!in->skipping && !read_value(in, begin)) {
        cli_config_problem(in->config, "%s:%d: invalid line; use key = value", in->config->path,
                           in->line);
    }
}

void cli_config_read_text(cli_config *config, const char *path, const char *text, size_t size)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* that some editors begin a file with */
    file_reader in = {.config = config};
    size_t at = size >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;

    free(config->path);
    config->path = cli_copy(path);
    while (at < size) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end ? (size_t)(end - text) - at : size - at;
        PAWLI_AUTO_FREE char *line = cli_copy_bytes(text + at, length);
        if (length > 0 && line[length - 1] == '\r')
            line[length - 1] = ' ';
        in.line++;
        read_line(&in, line, length);
        at += length + 1;
    }
}

void cli_config_read_file(cli_config *config, const char *path)
{
    PAWLI_AUTO_FREE char *text = cli_alloc(FILE_MAX_BYTES + 1, 1);
    FILE *file = fopen(path, "re");
    size_t size = file ? fread(text, 1, FILE_MAX_BYTES + 1, file) : 0;

    if (!file || ferror(file))
        cli_config_problem(config, "%s cannot be read: %s", path, strerror(errno));
    else if (size > FILE_MAX_BYTES)
        cli_config_problem(config, "%s is larger than 1MiB, the maximum: check the path", path);
    else
        cli_config_read_text(config, path, text, size);
    if (file)
        fclose(file);
}
