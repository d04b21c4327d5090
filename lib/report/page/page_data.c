/* The data of a page's charts. A line is numbers of 12 bits between its least and its greatest value, 4095 where nothing is known. Numbers
 * are stored as differences, low bytes before high ones, deflated, in base64. A course gives least, mean and greatest value of
 * its spans one behind the other; the samples follow for as many lines as fit, those of the first charts first. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/json.h"
#include "base/utf8.h"
#include "base/os/file.h"
#include "report/page/page.h"

enum { MISSING = 4095, GREATEST = 4094, COURSES = 64 };

struct data {
    struct gt_json json;
    size_t size; /* most bytes of all of it, while there are samples to leave out */
    const struct gt_course *course[COURSES];
    size_t courses;
};

struct scale {
    double least, step;
};

/* Differences of `count` words, byte by byte: all lowest bytes, then all next ones. NULL without memory. */
static uint8_t *planes_of(const uint32_t *word, size_t count, size_t bytes)
{
    uint8_t *plane = malloc(count * bytes + 1);
    for (size_t i = 0; plane && i < count; i++) {
        uint32_t difference = word[i] - (i ? word[i - 1] : 0);
        /* Differences become small when they have their sign in the lowest bit. */
        difference = difference << 1 ^ (difference >> 31 ? UINT32_MAX : 0);
        for (size_t k = 0; k < bytes; k++)
            plane[k * count + i] = (uint8_t)(difference >> 8 * k);
    }
    return plane;
}

/* Append words as text of `most` letters at most, or nothing when it would be longer: then the rest is not packed in vain. Fails `out`
 * without memory. */
static void pack_within(struct gt_buffer *out, const uint32_t *word, size_t count, size_t bytes, size_t most)
{
    uLongf length = compressBound(count * bytes), room = most / 4 * 3;
    length = length < room ? length : room;
    uint8_t *plane = planes_of(word, count, bytes), *packed = malloc(length + 1);
    int status = plane && packed ? compress2(packed, &length, plane, count * bytes, 6) : Z_MEM_ERROR;
    if (status == Z_OK)
        gt_base64_append(out, packed, length);
    else if (status != Z_BUF_ERROR)
        out->failed = -ENOMEM;
    free(plane);
    free(packed);
}

/* Names as people see them: without anything that acts. */
static void put_name(struct data *data, const char *name)
{
    struct gt_buffer shown = {0};
    gt_utf8_show(&shown, name);
    gt_json_text(&data->json, shown.data ? shown.data : "");
    gt_buffer_release(&shown);
}

static void put_text(struct data *data, const char *key, const char *text)
{
    gt_json_key(&data->json, key);
    put_name(data, text);
}

/* Puts words as a member, and frees them; NULL: without memory. */
static void put_words(struct data *data, const char *key, uint32_t *word, size_t count, size_t bytes)
{
    struct gt_buffer text = {0};
    if (word)
        pack_within(&text, word, count, bytes, SIZE_MAX);
    gt_json_key(&data->json, key);
    gt_json_text(&data->json, text.data ? text.data : "");
    if (!word || text.failed)
        data->json.out->failed = -ENOMEM;
    gt_buffer_release(&text);
    free(word);
}

static void put_double(struct data *data, const char *key, double value)
{
    gt_json_key(&data->json, key);
    gt_json_double(&data->json, value);
}

static void put_count(struct data *data, const char *key, size_t value)
{
    gt_json_key(&data->json, key);
    gt_json_integer(&data->json, (int64_t)value);
}

/* ---- lines ---- */

static uint32_t number_of(const struct scale *scale, double value)
{
    if (!isfinite(value))
        return MISSING;
    double number = scale->step > 0 ? (value - scale->least) / scale->step : 0;
    return (uint32_t)lround(fmin(fmax(number, 0), GREATEST));
}

static struct scale scale_of(const struct gt_course_line *line, size_t spans)
{
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < spans; i++)
        if (line->span[i].count) {
            least = fmin(least, line->span[i].least);
            most = fmax(most, line->span[i].most);
        }
    return (struct scale){isfinite(least) ? least : 0, most > least ? (most - least) / GREATEST : 0};
}

static uint32_t *words_of_spans(const struct gt_course *course, const struct gt_course_line *line,
                                const struct scale *scale)
{
    size_t count = course->spans;
    uint32_t *word = malloc((3 * count + 1) * sizeof *word);
    for (size_t i = 0; word && i < count; i++) {
        const struct gt_course_span *span = &line->span[i];
        word[i] = number_of(scale, span->count ? span->least : NAN);
        word[count + i] = number_of(scale, span->count ? span->sum / (double)span->count : NAN);
        word[2 * count + i] = number_of(scale, span->count ? span->most : NAN);
    }
    return word;
}

static uint32_t *words_of_samples(const struct gt_course *course, const struct gt_course_line *line,
                                  const struct scale *scale)
{
    uint32_t *word = malloc((course->samples + 1) * sizeof *word);
    for (size_t i = 0; word && i < course->samples; i++)
        word[i] = number_of(scale, i < line->values ? line->value[i] : NAN);
    return word;
}

static bool has_few(const struct gt_course *course, const struct gt_course_line *line)
{
    return course->is_whole && !line->is_dropped && course->samples <= GT_COURSE_FINE_SPANS;
}

/* The samples of as many lines as fit into what is left. */
static void put_samples(struct data *data, const struct gt_node *series, size_t chart, size_t number)
{
    const struct gt_series_line *of = &series->series.line[number];
    const struct gt_course *course = of->course;
    const struct gt_course_line *line = course ? &course->line[of->course_line] : NULL;
    struct gt_buffer text = {0};
    if (!line || !line->value || has_few(course, line) || data->json.out->length > data->size)
        return;
    struct scale scale = scale_of(line, course->spans);
    uint32_t *word = words_of_samples(course, line, &scale);
    if (word)
        pack_within(&text, word, course->samples, 2, data->size - data->json.out->length);
    if (text.length) {
        gt_json_array_begin(&data->json);
        gt_json_integer(&data->json, (int64_t)chart);
        gt_json_integer(&data->json, (int64_t)number);
        gt_json_text(&data->json, text.data ? text.data : "");
        gt_json_array_end(&data->json);
    }
    gt_buffer_release(&text);
    free(word);
}

/* A line without a course has its points as they are. */
static void put_points(struct data *data, const struct gt_series_line *of)
{
    size_t step = of->points / GT_COURSE_FINE_SPANS + 1;
    gt_json_key(&data->json, "x");
    gt_json_array_begin(&data->json);
    for (size_t i = 0; i < of->points; i += step)
        gt_json_double(&data->json, of->point[i].x);
    gt_json_array_end(&data->json);
    gt_json_key(&data->json, "y");
    gt_json_array_begin(&data->json);
    for (size_t i = 0; i < of->points; i += step) {
        double most = of->point[i].y;
        for (size_t k = i + 1; k < i + step && k < of->points; k++)
            most = fmax(most, of->point[k].y);
        gt_json_double(&data->json, most);
    }
    gt_json_array_end(&data->json);
}

static size_t number_of_course(struct data *data, const struct gt_course *course)
{
    for (size_t i = 0; i < data->courses; i++)
        if (data->course[i] == course)
            return i;
    if (data->courses < COURSES)
        data->course[data->courses] = course;
    return data->courses < COURSES ? data->courses++ : COURSES;
}

static void put_line(struct data *data, const struct gt_node *series, size_t number)
{
    const struct gt_series_line *of = &series->series.line[number];
    const struct gt_course *course = of->course;
    size_t course_number = course ? number_of_course(data, course) : COURSES;
    gt_json_object_begin(&data->json);
    put_text(data, "name", of->title);
    if (course_number == COURSES) {
        put_points(data, of);
    } else {
        const struct gt_course_line *line = &course->line[of->course_line];
        struct scale scale = scale_of(line, course->spans);
        put_count(data, "course", course_number);
        put_double(data, "least", scale.least / of->course_unit);
        put_double(data, "step", scale.step / of->course_unit);
        if (has_few(course, line))
            put_words(data, "samples", words_of_samples(course, line, &scale), course->samples, 2);
        else
            put_words(data, "spans", words_of_spans(course, line, &scale), 3 * course->spans, 2);
    }
    gt_json_object_end(&data->json);
}

/* ---- charts ---- */

static void put_bands(struct data *data, const struct gt_series *series)
{
    gt_json_key(&data->json, "bands");
    gt_json_array_begin(&data->json);
    for (size_t i = 0; i < series->bands; i++) {
        const struct gt_band *band = &series->band[i];
        gt_json_array_begin(&data->json);
        put_name(data, band->title);
        gt_json_double(&data->json, band->from);
        gt_json_double(&data->json, band->to);
        gt_json_integer(&data->json, band->lane);
        gt_json_array_end(&data->json);
    }
    gt_json_array_end(&data->json);
}

static void put_chart(struct data *data, const struct gt_node *series)
{
    unsigned flags = gt_node_flag_bits(series);
    gt_json_object_begin(&data->json);
    put_text(data, "key", series->key);
    put_text(data, "title", series->title);
    put_text(data, "unit", series->unit);
    put_text(data, "x_unit", series->series.x_unit);
    put_text(data, "kind", flags & GT_LANES ? "lanes" : flags & GT_STRIPS ? "strips" : "lines");
    gt_json_key(&data->json, "peaks");
    gt_json_bool(&data->json, flags & GT_PEAKS);
    gt_json_key(&data->json, "alike");
    gt_json_bool(&data->json, flags & GT_ALIKE);
    put_double(data, "peak", series->series.peak);
    if (series->series.limit.title) {
        gt_json_key(&data->json, "limit");
        gt_json_object_begin(&data->json);
        put_text(data, "name", series->series.limit.title);
        put_double(data, "value", series->series.limit.value);
        gt_json_object_end(&data->json);
    }
    put_bands(data, &series->series);
    gt_json_key(&data->json, "lines");
    gt_json_array_begin(&data->json);
    for (size_t i = 0; i < series->series.lines; i++)
        put_line(data, series, i);
    gt_json_array_end(&data->json);
    gt_json_object_end(&data->json);
}

/* ---- the time of the samples ---- */

static void put_course(struct data *data, const struct gt_course *course)
{
    double quantum = course->samples > 1 ? course->last / (double)course->samples / 16 : 1;
    uint32_t *word = malloc((course->samples + 1) * sizeof *word);
    quantum = fmax(quantum, course->last / 0x1p31);
    quantum = quantum > 0 ? quantum : 1;
    for (size_t i = 0; word && i < course->samples; i++)
        word[i] = (uint32_t)llround(course->time[i] / quantum);
    /* Differences of differences: samples come at equal distances. */
    for (size_t i = course->samples; word && i-- > 1;)
        word[i] -= word[i - 1];
    gt_json_object_begin(&data->json);
    put_count(data, "spans", course->spans);
    put_double(data, "span", gt_course_span_length(course));
    put_count(data, "seen", course->seen);
    put_double(data, "last", course->last);
    put_count(data, "samples", course->samples);
    put_double(data, "quantum", quantum);
    put_words(data, "time", word, course->samples, 4);
    gt_json_object_end(&data->json);
}

/* "<" ends a script element, or begins a comment in it. */
static void escape(struct gt_buffer *out, const struct gt_buffer *json)
{
    const char *text = json->data ? json->data : "", *end = text + json->length;
    while (text < end) {
        const char *next = memchr(text, '<', (size_t)(end - text));
        size_t length = (size_t)((next ? next : end) - text);
        gt_buffer_append(out, text, length);
        if (next)
            gt_buffer_text(out, "\\u003c");
        text += length + (next != NULL);
    }
}

void gt_page_data(struct gt_buffer *out, const struct gt_node *const series[], size_t count, size_t size)
{
    struct gt_buffer json = {0};
    struct data data = {.size = size ? size : GT_PAGE_SIZE};
    gt_json_init(&data.json, &json, 0);
    gt_json_object_begin(&data.json);
    gt_json_key(&data.json, "charts");
    gt_json_array_begin(&data.json);
    for (size_t i = 0; i < count; i++)
        put_chart(&data, series[i]);
    gt_json_array_end(&data.json);
    gt_json_key(&data.json, "courses");
    gt_json_array_begin(&data.json);
    for (size_t i = 0; i < data.courses; i++)
        put_course(&data, data.course[i]);
    gt_json_array_end(&data.json);
    gt_json_key(&data.json, "samples");
    gt_json_array_begin(&data.json);
    for (size_t i = 0; i < count; i++)
        for (size_t line = 0; line < series[i]->series.lines; line++)
            put_samples(&data, series[i], i, line);
    gt_json_array_end(&data.json);
    gt_json_object_end(&data.json);
    escape(out, &json);
    out->failed = out->failed ? out->failed : json.failed;
    gt_buffer_release(&json);
}

GT_EMBED(gt_page_style, "lib/report/page/page.css")
GT_EMBED(gt_page_script, "lib/report/page/page.js")
