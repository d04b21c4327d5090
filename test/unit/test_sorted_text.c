/* Pieces of text in the order of time, with and without runs that are laid aside. */
#include "analyse/merge/sorted_text.h"
#include "support/folder.h"
#include "support/test.h"

enum { PIECES = 5000 };

struct seen {
    int64_t time;
    int number, count;
};

/* Pieces are "TIME NUMBER xxx\n", longer ones now and then. */
static int see(void *context, const char *text, size_t length, struct gt_error *error)
{
    (void)error;
    struct seen *seen = context;
    char *end; /* digits end before the piece does */
    int64_t time = strtoll(text, &end, 10);
    int number = (int)strtol(end, &end, 10);
    assert_int_equal(length, (size_t)(end - text) + (size_t)(number % 7) * 100 + 1);
    assert_int_equal(text[length - 1], '\n');
    assert_true(time > seen->time || (time == seen->time && number > seen->number));
    *seen = (struct seen){time, number, seen->count + 1};
    return seen->count == PIECES + 1 ? -1 : 0;
}

static void write_pieces(struct gt_sorted_text *sorted, unsigned seed, bool is_random)
{
    for (int i = 0; i < PIECES; i++) {
        int64_t time = is_random ? rand_r(&seed) % 1000 - 500 : i / 3;
        struct gt_buffer *text = gt_sorted_text_end(sorted);
        gt_buffer_printf(text, "%lld %d", (long long)time, i);
        for (int j = 0; j < i % 7 * 100; j++)
            gt_buffer_char(text, 'x');
        gt_buffer_char(text, '\n');
        assert_int_equal(gt_sorted_text_add(sorted, time, 0, NULL), 0);
    }
}

/* In memory alone, and with runs down to one piece each. */
TEST_WITH(pieces_are_sorted_in_any_memory, folder_make, folder_remove)
{
    static const size_t memories[] = {0, 300000, 20000, 1};
    char beside[600];
    snprintf(beside, sizeof beside, "%s/merged.json", (const char *)*state);
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++)
        for (unsigned seed = 0; seed < 2; seed++) {
            struct gt_sorted_text *sorted;
            struct seen seen = {INT64_MIN, -1, 0};
            assert_int_equal(gt_sorted_text_open(&sorted, beside, memories[i], NULL), 0);
            write_pieces(sorted, seed, seed);
            assert_int_equal(gt_sorted_text_take(sorted, see, &seen, NULL), 0);
            assert_int_equal(seen.count, PIECES);
            gt_sorted_text_close(sorted);
        }
}

TEST(nothing_is_nothing)
{
    struct gt_sorted_text *sorted;
    struct seen seen = {0};
    assert_int_equal(gt_sorted_text_open(&sorted, "x", 0, NULL), 0);
    assert_int_equal(gt_sorted_text_take(sorted, see, &seen, NULL), 0);
    gt_sorted_text_close(sorted);
    gt_sorted_text_close(NULL);
}

TEST(a_folder_that_takes_no_file_is_told)
{
    struct gt_sorted_text *sorted;
    struct gt_error error = {0};
    assert_int_equal(gt_sorted_text_open(&sorted, "/dev/null/merged.json", 1, &error), 0);
    gt_buffer_text(gt_sorted_text_end(sorted), "piece");
    assert_true(gt_sorted_text_add(sorted, 1, 0, &error) < 0);
    assert_non_null(strstr(error.text, "/dev/null/"));
    gt_sorted_text_close(sorted);
}
