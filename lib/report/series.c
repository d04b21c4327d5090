#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "report/node.h"

struct gt_node *gt_report_series(struct gt_node *parent, const char *key, const char *title, const char *x_unit,
                                 const char *unit)
{
    struct gt_node *node = gt_node_add(parent, GT_NODE_SERIES, key, title, unit);
    if (node && !(node->series.x_unit = strdup(x_unit)))
        gt_node_fail(node);
    return node;
}

void gt_series_release(struct gt_series *series)
{
    for (size_t i = 0; i < series->lines; i++) {
        free(series->line[i].key);
        free(series->line[i].title);
        free(series->line[i].point);
    }
    for (size_t i = 0; i < series->bands; i++)
        free((char *)series->band[i].title);
    free(series->line);
    free(series->band);
    free(series->x_unit);
}

int gt_series_line(struct gt_node *node, const char *key, const char *title)
{
    if (!node)
        return -ENOMEM;
    struct gt_series *series = &node->series;
    struct gt_series_line *line = GT_GROW_BY_ONE(series->line, series->lines);
    if (!line)
        return gt_node_fail(node);
    series->lines++;
    *line = (struct gt_series_line){.key = strdup(key), .title = strdup(title)};
    return line->key && line->title ? (int)series->lines - 1 : gt_node_fail(node);
}

int gt_series_point(struct gt_node *node, int number, double x, double y)
{
    if (!node)
        return -ENOMEM;
    if (number < 0 || (size_t)number >= node->series.lines)
        return -EINVAL;
    struct gt_series_line *line = &node->series.line[number];
    struct gt_point *point = gt_node_grow(line->point, line->points, &line->capacity, sizeof *point);
    if (!point)
        return gt_node_fail(node);
    line->point = point;
    line->point[line->points++] = (struct gt_point){x, y};
    return 0;
}

int gt_series_band(struct gt_node *node, const char *title, double from, double to)
{
    if (!node)
        return -ENOMEM;
    struct gt_series *series = &node->series;
    struct gt_band *band = gt_node_grow(series->band, series->bands, &series->band_capacity, sizeof *band);
    if (!band)
        return gt_node_fail(node);
    series->band = band;
    band += series->bands;
    *band = (struct gt_band){strdup(title), from, to};
    if (!band->title)
        return gt_node_fail(node);
    series->bands++;
    return 0;
}

const char *gt_series_x_unit(const struct gt_node *node)
{
    return node->series.x_unit ? node->series.x_unit : "";
}

size_t gt_series_lines(const struct gt_node *node)
{
    return node->series.lines;
}

const char *gt_series_line_key(const struct gt_node *node, size_t line)
{
    return node->series.line[line].key;
}

const char *gt_series_line_title(const struct gt_node *node, size_t line)
{
    return node->series.line[line].title;
}

size_t gt_series_points(const struct gt_node *node, size_t line, const struct gt_point **ret)
{
    *ret = node->series.line[line].point;
    return node->series.line[line].points;
}

size_t gt_series_bands(const struct gt_node *node, const struct gt_band **ret)
{
    *ret = node->series.band;
    return node->series.bands;
}
