/* Errors, buffers, JSON text, machine roots, libraries. */
#include <sys/stat.h>

#include <jansson.h>

#include "base/os/root.h"
#include "base/error.h"
#include "base/json.h"
#include "base/os/library.h"
#include "support/test.h"

TEST(the_first_error_stays)
{
    struct gt_error error = {0};
    assert_int_equal(gt_error_system(&error, ENOENT, "%s", "a.csv"), -ENOENT);
    assert_int_equal(gt_error_set(&error, EINVAL, "later"), -EINVAL);
    assert_int_equal(error.code, ENOENT);
    assert_string_equal(error.text, "a.csv: No such file or directory");
    assert_int_equal(gt_error_set(NULL, EINVAL, "nobody listens"), -EINVAL);
    struct gt_error cut = {0};
    char longest[1000];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    gt_error_system(&cut, EINVAL, "%s", longest);
    assert_int_equal(strlen(cut.text), sizeof cut.text - 1);
    assert_int_equal(cut.path_length, sizeof cut.text - 1);
}

TEST(an_error_knows_the_path_it_begins_with)
{
    struct gt_error file = {0}, line = {0}, none = {0}, kept = {0};
    gt_error_system(&file, ENOENT, "%s", "a b.csv");
    assert_int_equal(file.path_length, strlen("a b.csv"));
    gt_error_set(&line, EBADMSG, "%s, line %d: too short", "b.csv", 3);
    assert_int_equal(line.path_length, strlen("b.csv"));
    gt_error_set(&none, ESRCH, "process %d does not exist", 3);
    assert_int_equal(none.path_length, 0);
    assert_int_equal(gt_error_copy(&kept, &line), -EBADMSG);
    assert_int_equal(gt_error_copy(&kept, &file), -ENOENT);
    assert_string_equal(kept.text, "b.csv, line 3: too short");
    assert_int_equal(kept.path_length, strlen("b.csv"));
    assert_int_equal(gt_error_copy(NULL, &file), -ENOENT);
}

TEST(a_buffer_keeps_its_first_failure)
{
    struct gt_buffer buffer = {.ceiling = 10};
    assert_int_equal(gt_buffer_printf(&buffer, "%s", "12345678"), 0);
    assert_int_equal(gt_buffer_text(&buffer, "901"), -EFBIG);
    assert_int_equal(gt_buffer_char(&buffer, 'x'), -EFBIG);
    assert_string_equal(buffer.data, "12345678");
    gt_buffer_clear(&buffer);
    gt_buffer_release(&buffer);
    assert_null(buffer.data);
}

static void write_sample(struct gt_json *json)
{
    gt_json_object_begin(json);
    gt_json_key(json, "empty");
    gt_json_array_begin(json);
    gt_json_array_end(json);
    gt_json_key(json, "list");
    gt_json_array_begin(json);
    gt_json_double(json, 0.1);
    gt_json_double(json, NAN);
    gt_json_integer(json, -3);
    gt_json_bool(json, true);
    gt_json_array_end(json);
    gt_json_key(json, "text");
    gt_json_text(json, "a\"\\\n\x01é\xff");
    gt_json_object_end(json);
}

/* Read again, each is the character that it was. */
TEST(json_escapes_what_terminals_obey)
{
    static const struct {
        const char *text, *written;
    } cases[] = {
        {"\xc2\x80|\xc2\x9b"
         "2J|\xc2\x9f|\xc2\xa0",
         "\"\\u0080|\\u009b2J|\\u009f|\xc2\xa0\""},
        {"\xd8\x9c|\xe2\x80\x8e|\xe2\x80\x8f|\xe2\x80\x90", "\"\\u061c|\\u200e|\\u200f|\xe2\x80\x90\""},
        {"\xe2\x80\xa8|\xe2\x80\xa9|\xe2\x80\xaa|\xe2\x80\xae|\xe2\x80\xaf",
         "\"\\u2028|\\u2029|\\u202a|\\u202e|\xe2\x80\xaf\""},
        {"fit\xe2\x80\x8b|\xf3\xa0\x81\x81|\xf0\x9f\x98\x80", "\"fit\\u200b|\\udb40\\udc41|\xf0\x9f\x98\x80\""},
        {"\xe2\x81\x9f|\xe2\x81\xa0|\xe2\x81\xaf|\xe2\x81\xb0", "\"\xe2\x81\x9f|\\u2060|\\u206f|\xe2\x81\xb0\""},
        {"\x7f\x1b[0m \xf0\x9f\x98\x80", "\"\\u007f\\u001b[0m \xf0\x9f\x98\x80\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gt_buffer out = {0};
        gt_json_quote(&out, cases[i].text);
        assert_string_equal(out.data, cases[i].written);
        json_t *read = json_loads(out.data, JSON_DECODE_ANY, NULL);
        assert_string_equal(json_string_value(read), cases[i].text);
        json_decref(read);
        gt_buffer_release(&out);
    }
}

TEST(json_is_laid_out_as_python_does)
{
    struct gt_buffer out = {0};
    struct gt_json json;
    gt_json_init(&json, &out, 1);
    write_sample(&json);
    assert_string_equal(out.data, "{\n \"empty\": [],\n \"list\": [\n  0.1,\n  null,\n  -3,\n  true\n ],\n"
                                  " \"text\": \"a\\\"\\\\\\n\\u0001é�\"\n}");
    gt_buffer_clear(&out);
    gt_json_init(&json, &out, 0);
    write_sample(&json);
    assert_string_equal(out.data, "{\"empty\": [], \"list\": [0.1, null, -3, true], "
                                  "\"text\": \"a\\\"\\\\\\n\\u0001é�\"}");
    gt_buffer_release(&out);
}

TEST(json_has_a_greatest_depth)
{
    struct gt_buffer out = {0};
    struct gt_json json;
    for (int depth = GT_JSON_DEPTH - 1; depth <= GT_JSON_DEPTH + 3; depth++) {
        gt_buffer_clear(&out);
        gt_json_init(&json, &out, 0);
        for (int i = 0; i < depth; i++)
            gt_json_array_begin(&json);
        for (int i = 0; i < depth; i++)
            gt_json_array_end(&json);
        assert_int_equal(json.depth, 0);
        assert_int_equal(out.failed, depth < GT_JSON_DEPTH ? 0 : -E2BIG);
    }
    gt_buffer_release(&out);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

TEST(a_root_stays_below_its_folder)
{
    char folder[] = "/tmp/gpu-tracker-root-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/number", folder);
    write_text(path, "42\n");
    struct gt_root root;
    struct gt_error error = {0};
    assert_int_equal(gt_root_open(&root, folder, &error), 0);
    assert_false(root.is_machine);
    unsigned long long number = 0;
    assert_int_equal(gt_root_read_u64(&root, "/number", &number), 0);
    assert_int_equal(number, 42);
    int fd = gt_root_open_file(&root, "number");
    static const char *const wrong[] = {"",      "-5\n", "12x\n", "0x10\n", "1 2\n", "99999999999999999999\n",
                                        "nan\n", " 7\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_text(path, wrong[i]);
        assert_true(gt_root_read_u64(&root, "number", &number) < 0 && gt_root_reread_u64(fd, &number) < 0);
        assert_int_equal(number, 42);
    }
    write_text(path, "42\n");
    assert_int_equal(gt_root_reread_u64(fd, &number), 0);
    close(fd);
    char text[3];
    assert_int_equal(gt_root_read(&root, "number", text, sizeof text), 2);
    assert_string_equal(text, "42");
    assert_int_equal(gt_root_read(&root, "proc/self/stat", text, sizeof text), -ENOENT);
    gt_root_close(&root);
    unlink(path);
    rmdir(folder);
    assert_int_equal(gt_root_open(&root, folder, &error), -ENOENT);
    assert_non_null(strstr(error.text, folder));
}

struct functions {
    double (*cosine)(double);
    void (*newer)(void);
};

TEST(a_missing_symbol_matters_only_when_required)
{
    static const char *const names[] = {"libnothing.so.9", "libm.so.6", NULL};
    static const char *const none[] = {"libnothing.so.9", NULL};
    struct gt_symbol symbols[] = {GT_SYMBOL(functions, cosine, "cos", true),
                                  GT_SYMBOL(functions, newer, "not_in_this_version", false)};
    struct gt_library library = {0};
    struct functions functions;
    struct gt_error error = {0};
    assert_int_equal(gt_library_open(&library, NULL, names, symbols, 2, &functions, &error), 0);
    assert_true(functions.cosine(0) == 1);
    assert_null(functions.newer);
    gt_library_close(&library);
    symbols[1].required = true;
    assert_int_equal(gt_library_open(&library, NULL, names, symbols, 2, &functions, &error), -ELIBBAD);
    assert_non_null(strstr(error.text, "not_in_this_version"));
    memset(&error, 0, sizeof error);
    assert_int_equal(gt_library_open(&library, NULL, none, symbols, 2, &functions, &error), -ENOENT);
    assert_int_equal(gt_library_open(&library, "/nowhere/libm.so", names, symbols, 2, &functions, NULL), -ENOENT);
}

static char *read_file(const struct gt_root *root, const char *path)
{
    static char text[32];
    return gt_root_read(root, path, text, sizeof text) < 0 ? NULL : text;
}

TEST(what_was_opened_early_is_read_when_it_cannot_be_opened_any_more)
{
    struct gt_root root;
    char path[] = "/tmp/gt-early-XXXXXX", open[] = "/tmp/gt-early-XXXXXX";
    int secret = mkstemp(path), public = mkstemp(open);
    assert_int_equal(fchmod(public, 0644), 0);
    assert_int_equal(write(secret, "1", 1), 1);
    assert_int_equal(gt_root_open(&root, NULL, NULL), 0);
    assert_string_equal(read_file(&root, path), "1");
    assert_false(gt_early_has("tmp/"));
    gt_early_begin();
    assert_string_equal(read_file(&root, path), "1");
    assert_string_equal(read_file(&root, open), "");
    gt_early_end();
    assert_true(gt_early_has(path + 1));
    assert_false(gt_early_has(open + 1)); /* everybody may open it */
    assert_int_equal(unlink(path) | unlink(open), 0);
    assert_int_equal(pwrite(secret, "22", 2, 0), 2);
    assert_string_equal(read_file(&root, path), "22");
    assert_string_equal(read_file(&root, path), "22");
    assert_null(read_file(&root, open));
    assert_int_equal(gt_early_open("perf/1/2/3"), -ENOENT);
    gt_root_close(&root);
    close(secret);
    close(public);
}

TEST(bytes_become_base64)
{
    static const char *const wanted[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
    for (size_t length = 0; length <= 6; length++) {
        struct gt_buffer text = {0};
        gt_base64_append(&text, "foobar", length);
        assert_string_equal(text.data ? text.data : "", wanted[length]);
        gt_buffer_release(&text);
    }
    struct gt_buffer text = {0};
    gt_base64_append(&text, "\xff\xfe\x00\xfb", 4);
    assert_string_equal(text.data, "//4A+w==");
    gt_buffer_release(&text);
}
