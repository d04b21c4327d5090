/* The events of a trace as a table in memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/export/tables.h"
#include "base/utf8.h"

struct builder {
    const struct gt_trace *trace;
    struct gt_step_windows windows;
    struct gt_table *table;
    struct gt_buffer valid;
    uint64_t events;
};

static void put_bytes(struct builder *builder, const char *text, size_t length)
{
    struct gt_buffer *valid = &builder->valid;
    if (gt_utf8_are_valid(text, length)) {
        gt_table_text_of(builder->table, text, length);
        return;
    }
    gt_buffer_clear(valid);
    if (gt_utf8_valid_bytes(valid, text, length) < 0)
        gt_table_missing(builder->table);
    else
        gt_table_text_of(builder->table, valid->length ? valid->data : "", valid->length);
}

static void put_text(void *context, int column, struct gt_span text)
{
    struct builder *builder = context;
    (void)column;
    if (text.text)
        put_bytes(builder, text.text, text.length);
    else
        gt_table_missing(builder->table);
}

static void put_string(void *context, int column, uint32_t key, const char *text)
{
    struct builder *builder = context;
    struct gt_table *table = builder->table;
    if (!text) {
        gt_table_missing(table);
    } else if (gt_table_knows(table, (size_t)column, key) || gt_utf8_are_valid(text, strlen(text))) {
        gt_table_choice(table, key, text);
    } else {
        gt_buffer_clear(&builder->valid);
        gt_utf8_valid_bytes(&builder->valid, text, strlen(text));
        gt_table_choice(table, key, builder->valid.length ? builder->valid.data : "");
    }
}

static void put_number(void *context, int column, bool is_there, int64_t value)
{
    struct builder *builder = context;
    (void)column;
    if (is_there)
        gt_table_integer(builder->table, value);
    else
        gt_table_missing(builder->table);
}

static int take_event(void *context, const struct gt_trace_event *event, struct gt_error *error)
{
    struct builder *builder = context;
    if (event->phase == 'M')
        return 0;
    gt_export_row(builder->trace, &builder->windows, event, builder->events++,
                  &(struct gt_export_cells){builder, put_string, put_text, put_number});
    return builder->table && !builder->table->failed ? 0 : gt_error_system(error, ENOMEM, "reading events");
}

static void add_columns(struct gt_table *table)
{
    for (int i = 0; i < GT_EXPORT_COLUMNS; i++) {
        const char *name = gt_export_columns[i].name;
        bool is_plain = strcmp(name, "shapes") == 0 || strcmp(name, "args") == 0;
        gt_table_column(table, name, name,
                        gt_export_columns[i].is_number ? GT_CELL_INTEGER
                        : is_plain                     ? GT_CELL_PLAIN_TEXT
                                                       : GT_CELL_TEXT,
                        NULL);
    }
}

int gt_export_table(struct gt_trace_source *source, struct gt_table **ret, struct gt_error *error)
{
    struct builder builder = {.trace = gt_trace_source_trace(source), .table = gt_table_new()};
    struct gt_trace_sink sink = {.context = &builder, .event = take_event}; /* surveyed: no file begins twice */
    add_columns(builder.table);
    int status = gt_trace_source_read(source, NULL, NULL, error);
    if (status >= 0 && gt_step_windows_open(&builder.windows, builder.trace) < 0)
        status = gt_error_system(error, ENOMEM, "reading events");
    if (status >= 0)
        status = gt_trace_source_read(source, &sink, NULL, error);
    gt_step_windows_release(&builder.windows);
    gt_buffer_release(&builder.valid);
    if (status >= 0)
        return gt_table_finish(ret, builder.table, "events", error);
    gt_table_free(builder.table);
    return status;
}
