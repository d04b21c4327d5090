/* Tables held by columns, and their Arrow streams. */
#include "base/table.h"
#include "support/test.h"

/* Ten rows, of which each has a missing cell. */
static struct gt_table *sample(void)
{
    static const char *const names[] = {"a", "bc", ""};
    struct gt_table *table = gt_table_new();
    gt_table_column(table, "number", "Number", GT_CELL_NUMBER, "seconds");
    gt_table_column(table, "integer", "Integer", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "text", "Text", GT_CELL_TEXT, NULL);
    gt_table_column(table, "plain", "Plain", GT_CELL_PLAIN_TEXT, NULL);
    gt_table_column(table, "time", "Time", GT_CELL_TIME, NULL);
    for (int row = 0; row < 10; row++) {
        gt_table_number(table, row % 5 == 0 ? NAN : row / 2.0);
        if (row % 5 == 1)
            gt_table_missing(table);
        else
            gt_table_integer(table, row);
        gt_table_choice(table, row % 5 == 2 ? UINT32_MAX : (uint32_t)(row % 3) * 1000, names[row % 3]);
        gt_table_text(table, row % 5 == 3 ? NULL : names[row % 3]);
        if (row % 5 == 4)
            gt_table_number(table, NAN); /* a missing value fits any column */
        else
            gt_table_time(table, row);
    }
    return table;
}

TEST(some_rows_are_kept)
{
    static const bool wanted[10] = {[1] = true, [3] = true, [5] = true, [8] = true, [9] = true};
    static const char *const plain[] = {"bc", NULL, "", NULL, "a", "bc"};
    struct gt_table *table = sample();
    struct gt_buffer text = {0};
    gt_table_keep_rows(table, wanted);
    gt_table_number(table, 7); /* rows may follow */
    gt_table_integer(table, 7);
    gt_table_choice(table, 1000, "bc");
    gt_table_text(table, "bc");
    gt_table_time(table, 7);
    assert_int_equal(gt_table_finish(&table, table, "sample", NULL), 0);
    assert_int_equal(gt_table_rows(table), 6);
    assert_true(gt_table_cell_number(table, 0, 0) == 0.5 && isnan(gt_table_cell_number(table, 2, 0)));
    assert_true(isnan(gt_table_cell_number(table, 0, 1)) && gt_table_cell_integer(table, 1, 1) == 3);
    for (size_t row = 0; row < 6; row++)
        if (plain[row])
            assert_string_equal(gt_table_cell_text(table, row, 3, &text), plain[row]);
        else
            assert_null(gt_table_cell_text(table, row, 3, &text));
    assert_string_equal(gt_table_cell_text(table, 5, 2, &text), "bc");
    assert_int_equal(gt_table_cell_integer(table, 3, 4), 8);
    assert_true(gt_table_is_missing(table, 4, 4) && !gt_table_is_missing(table, 5, 4));
    gt_buffer_release(&text);
    gt_table_free(table);
}

TEST(cells_come_back)
{
    struct gt_table *table = sample();
    struct gt_buffer text = {0};
    assert_int_equal(gt_table_finish(&table, table, "sample", NULL), 0);
    assert_int_equal(gt_table_rows(table), 10);
    for (size_t row = 0; row < 10; row++)
        for (size_t column = 0; column < 5; column++)
            assert_int_equal(gt_table_is_missing(table, row, column), row % 5 == column);
    assert_true(isnan(gt_table_cell_number(table, 0, 0)) && gt_table_cell_number(table, 3, 0) == 1.5);
    assert_true(isnan(gt_table_cell_number(table, 1, 1)) && gt_table_cell_number(table, 2, 1) == 2);
    assert_int_equal(gt_table_cell_integer(table, 9, 1), 9);
    assert_null(gt_table_cell_text(table, 2, 2, &text));
    assert_string_equal(gt_table_cell_text(table, 1, 2, &text), "bc");
    assert_string_equal(gt_table_cell_text(table, 5, 2, &text), "");
    assert_string_equal(gt_table_cell_text(table, 9, 3, &text), "a");
    assert_int_equal(table->column[2].texts, 3); /* each once */
    gt_buffer_release(&text);
    gt_table_free(table);
}

TEST(cells_of_another_kind_fail)
{
    for (int way = 0; way < 5; way++) {
        struct gt_error error = {0};
        struct gt_table *table = gt_table_new(), *finished = NULL;
        if (way > 0)
            gt_table_column(table, "a", "A", GT_CELL_INTEGER, "");
        switch (way) {
        case 0:
        case 1: gt_table_number(table, 1); break;
        case 2: gt_table_text(table, "x"); break;
        case 3: gt_table_chosen(table, 0); break;
        default: gt_table_integer(table, 1); gt_table_column(table, "b", "B", GT_CELL_INTEGER, "");
        }
        assert_int_equal(table->failed, -EINVAL);
        gt_table_integer(table, 1);
        assert_int_equal(gt_table_rows(table), way == 4);
        assert_int_equal(gt_table_finish(&finished, table, "sample", &error), -EINVAL);
        assert_null(finished);
        assert_int_equal(error.code, EINVAL);
    }
    struct gt_table *finished = NULL;
    gt_table_number(NULL, 1);
    assert_int_equal(gt_table_finish(&finished, NULL, "sample", NULL), -ENOMEM);
}

TEST(whole_numbers_become_integers)
{
    static const struct gt_column_kind columns[] = {
        {"whole", GT_CELL_NUMBER, true}, {"part", GT_CELL_NUMBER, true}, {"missing", GT_CELL_NUMBER, true}};
    struct gt_table *table = gt_table_new();
    gt_table_add_columns(table, columns, 3);
    for (int row = 0; row < 3; row++) {
        gt_table_number(table, row - 1);
        gt_table_number(table, row / 2.0);
        gt_table_number(table, row ? row : NAN);
    }
    assert_int_equal(gt_table_finish_columns(&table, table, columns, 3, "sample", NULL), 0);
    assert_int_equal(table->column[0].kind, GT_CELL_INTEGER);
    assert_int_equal(gt_table_cell_integer(table, 0, 0), -1);
    assert_int_equal(table->column[1].kind, GT_CELL_NUMBER);
    assert_int_equal(table->column[2].kind, GT_CELL_NUMBER);
    gt_table_free(table);
}

TEST(a_text_stands_once_in_its_dictionary)
{
    static const char *const texts[] = {"a", "bc", "a", "", NULL, "bc", "d", ""};
    struct gt_table *table = gt_table_new();
    gt_table_column(table, "text", "Text", GT_CELL_TEXT, NULL);
    for (size_t i = 0; i < 8; i++)
        gt_table_text(table, texts[i]);
    assert_int_equal(gt_table_finish(&table, table, "sample", NULL), 0);
    assert_int_equal(table->column[0].texts, 4);
    for (size_t i = 0; i < 8; i++) {
        size_t length;
        const char *bytes = gt_table_cell_bytes(table, i, 0, &length);
        assert_int_equal(gt_table_is_missing(table, i, 0), !texts[i]);
        if (texts[i])
            assert_true(length == strlen(texts[i]) && !memcmp(bytes, texts[i], length));
    }
    gt_table_free(table);
}

TEST(columns_can_be_filled_one_by_one)
{
    struct gt_table *table = gt_table_new();
    struct gt_buffer text = {0};
    gt_table_column(table, "number", "", GT_CELL_NUMBER, NULL);
    gt_table_column(table, "text", "", GT_CELL_TEXT, NULL);
    for (int row = 0; row < 100; row++) {
        gt_table_seek(table, 0);
        gt_table_number(table, row);
    }
    gt_table_dictionary_text(table, 1, "unused", 6);
    gt_table_dictionary_text(table, 1, "used", 4);
    for (int row = 0; row < 100; row++) {
        gt_table_seek(table, 1);
        gt_table_chosen(table, row % 2 ? 1 : -1);
    }
    assert_int_equal(gt_table_rows(table), 100);
    assert_true(gt_table_is_missing(table, 98, 1));
    assert_string_equal(gt_table_cell_text(table, 99, 1, &text), "used");
    gt_table_seek(table, 1);
    gt_table_chosen(table, 2); /* the dictionary has two texts */
    assert_int_equal(table->failed, -EINVAL);
    gt_buffer_release(&text);
    gt_table_free(table);
}

/* A stream outlives the table that it is of. */
TEST(streams_are_of_arrow)
{
    struct gt_table *table = sample();
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch, end;
    assert_int_equal(gt_table_arrow_stream(table, &stream), 0);
    gt_table_free(table);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_string_equal(schema.format, "+s");
    static const char *const formats[] = {"g", "l", "i", "U", "tsn:UTC"};
    for (int i = 0; i < 5; i++)
        assert_string_equal(schema.children[i]->format, formats[i]);
    assert_string_equal(schema.children[2]->dictionary->format, "U");
    schema.release(&schema);
    assert_int_equal(stream.get_next(&stream, &batch), 0);
    assert_int_equal(stream.get_next(&stream, &end), 0);
    assert_null(end.release);
    stream.release(&stream);
    assert_int_equal(batch.length, 10);
    assert_int_equal(batch.n_children, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(batch.children[i]->null_count, 2);
    const struct ArrowArray *text = batch.children[2];
    const int32_t *choice = text->buffers[1];
    const int64_t *begin = text->dictionary->buffers[1];
    assert_memory_equal((const char *)text->dictionary->buffers[2] + begin[choice[1]], "bc", 2);
    assert_int_equal(((const uint8_t *)text->buffers[0])[0], (uint8_t) ~(1u << 2 | 1u << 7));
    batch.release(&batch);
}
