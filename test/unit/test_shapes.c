/* Events of known shapes are read as others are. */
#include "support/test.h"
#include "trace/shapes.h"

static const char *const events[] = {
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 4021, \"tid\": 17,\n  \"ts\": 5000031.125, \"dur\": 21.2,\n"
    "  \"args\": {\"External id\": 7, \"Input type\": [\"float\", \"\"], \"Input Dims\": [[64, 1024], []], \"Ev Idx\": 7\n  }\n}",
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"void k<4, a>(int)\",\"pid\":0,\"tid\":\"stream 7\",\"ts\":5,\"dur\":1e2,\"args\":{\"correlation\":"
    "9,\"stream\":7,\"grid\":[64,1,1],\"warps per SM\":2.5e-1,\"graph\":null,\"bytes\":4096}}",
    "{\"ph\":\"s\",\"id\":\"0x1f\",\"pid\":1,\"tid\":2,\"ts\":5.5,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\",\"args\":{}}",
    "{\"ph\":\"X\",\"name\":\"a\",\"args\":{\"name\":\"b\",\"step_num\":\"3\",\"pid\":5,\"thread_id\":6,\"layer_name\":\"l\"},\"cat\":\"x\",\"cat\":2}",
    "{\"name\":\"a\\u0041\\\"\",\"ph\":\"i\",\"ts\":-1,\"args\":{\"pid\":[1,2],\"name\":{\"a\":true}},\"id2\":{\"local\":7},\"tid\":true}",
    "{\"ph\":\"C\",\"ts\":0.001,\"args\":{\"v\":1,\"w\":{\"x\":[{\"y\":[]},{}]}},\"args\":{\"bytes\":5}}",
    "{}",
};
enum { EVENTS = sizeof events / sizeof *events, MOST = 600 };

static void assert_same_span(struct gt_span a, struct gt_span b)
{
    assert_ptr_equal(a.text, b.text);
    assert_int_equal(a.length, b.length);
}

static void assert_same(const struct gt_raw_event *a, const struct gt_raw_event *b)
{
    const struct gt_span x[] = {a->text, a->name, a->category, a->pid,      a->tid,
                                a->id,   a->args, a->real_pid, a->real_tid, a->label},
                         y[] = {b->text, b->name, b->category, b->pid,      b->tid,
                                b->id,   b->args, b->real_pid, b->real_tid, b->label};
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        assert_same_span(x[i], y[i]);
    assert_true(a->start == b->start && a->duration == b->duration && a->bytes == b->bytes);
    assert_true(a->correlation == b->correlation && a->external == b->external && a->step == b->step);
    assert_true(a->phase == b->phase && a->has == b->has && a->has_others == b->has_others);
}

static void read_both(struct gt_shapes *shapes, const char *text, size_t length)
{
    struct gt_raw_event walked, met;
    int status = gt_raw_event_parse(&walked, (struct gt_span){text, length});
    assert_int_equal(gt_shapes_parse(shapes, &met, (struct gt_span){text, length}), status);
    if (status == 0)
        assert_same(&walked, &met);
}

/* Other numbers and strings in their places, and damage. */
static size_t change(char *text, size_t length, unsigned *seed)
{
    static const char letters[] = "{}[]:,\"\\ \n\1-+.0195eEtfnNaxu";
    for (int i = rand_r(seed) % 4; i > 0; i--) {
        size_t at = (size_t)rand_r(seed) % length, count = 1 + (size_t)rand_r(seed) % 3;
        char c = text[at];
        bool is_damage = rand_r(seed) % 4 == 0;
        if (is_damage && rand_r(seed) % 2 && at + count < length) {
            memmove(text + at, text + at + count, length - at - count);
            length -= count;
        } else if (is_damage) {
            text[at] = letters[(size_t)rand_r(seed) % (sizeof letters - 1)];
        } else if (c >= '1' && c <= '9' && length + count < MOST) {
            memmove(text + at + count, text + at, length - at);
            length += count;
        }
    }
    return length;
}

TEST(known_shapes_are_read_as_others_are)
{
    struct gt_shapes *shapes;
    unsigned seed = 3;
    assert_int_equal(gt_shapes_open(&shapes), 0);
    for (int round = 0; round < 60000; round++) {
        const char *event = events[round % EVENTS];
        size_t length = strlen(event);
        char *text = malloc(MOST + GT_SCAN_PAD);
        memcpy(text, event, length);
        length = change(text, length, &seed);
        memset(text + length, 0, GT_SCAN_PAD);
        read_both(shapes, text, length);
        free(text);
    }
    assert_in_range(gt_shapes_met(shapes), 15000, 60000); /* most are what they were, but for numbers */
    gt_shapes_close(shapes);
    gt_shapes_close(NULL);
}

/* One shape too many, one text too long and one level too deep are read all the same. */
TEST(not_all_shapes_are_learnt)
{
    struct gt_shapes *shapes;
    char text[3000];
    assert_int_equal(gt_shapes_open(&shapes), 0);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < 3000; i++) {
            int length = sprintf(text, "{\"ph\":\"X\",\"k%d\":%d,%*s\"args\":{\"a\":%.*s1%.*s}}", i % 100 ? i % 20 : i,
                                 i, i % 7 * 20, "", i % 30, "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", i % 30,
                                 "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
            memset(text + length, 0, GT_SCAN_PAD);
            read_both(shapes, text, (size_t)length);
        }
    assert_in_range(gt_shapes_met(shapes), 500, 6000);
    gt_shapes_close(shapes);
}

TEST(values_end_where_a_plain_reading_says)
{
    static const char letters[] = "\"\\ \1\x1f -+.0123456789eEx\x80\xff";
    char text[100 + GT_SCAN_PAD];
    unsigned seed = 5;
    for (int round = 0; round < 50000; round++) {
        size_t length = 1 + (size_t)rand_r(&seed) % 80;
        bool is_number = round % 2;
        for (size_t i = 0; i < length; i++)
            text[i] = is_number            ? letters[6 + rand_r(&seed) % 15]
                      : rand_r(&seed) % 20 ? 'x'
                                           : letters[rand_r(&seed) % 25];
        text[length] = is_number ? ',' : '"';
        memset(text + length + 1, 0, GT_SCAN_PAD);
        assert_ptr_equal(gt_shapes_string_end(text), gt_shapes_string_end_plain(text));
        struct gt_walk walk = {.at = text, .end = text + length + 1};
        struct gt_span value;
        int status = is_number ? gt_walk_value(&walk, &value) : -1;
        const char *end = gt_shapes_number_end(text);
        if (status == 0 && !walk.mended)
            assert_ptr_equal(end, value.text + value.length);
        else if (is_number && status < 0)
            assert_null(end);
    }
}
