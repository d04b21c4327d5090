/* Functions of recordings and code blocks. */
#include <errno.h>
#include <string.h>

#include "api/python.h"
#include "base/grow.h"
#include "core.h"
#include "report/report.h"

/* Keeps a warning of the library, which does not hold the interpreter's lock. */
static void keep_warning(void *context, const char *sentence)
{
    struct core_call *call = context;
    char **text = GT_GROW_BY_ONE(call->warning, call->warning_count);
    if (text && (*text = strdup(sentence)))
        call->warning_count++;
}

static int analyze(struct core_call *call, struct gt_error *error)
{
    struct gt_blocks_options options = GT_INIT(struct gt_blocks_options);
    options.tracking_file = call->text[0];
    options.sub_tracking_files = call->texts[1];
    options.blocks_optional = call->flag[2];
    options.warn = keep_warning;
    options.context = call;
    return gt_blocks_analyze(&options, &call->report, error);
}

static int compare(struct core_call *call, struct gt_error *error)
{
    struct gt_compare_options options = GT_INIT(struct gt_compare_options);
    options.sessions = call->texts[0];
    options.statistic = call->text[1];
    options.strict = call->flag[2];
    options.allow_partial = call->flag[3];
    options.warn = keep_warning;
    options.context = call;
    return gt_blocks_compare(&options, &call->report, error);
}

static PyObject *report_and_warnings(struct core_call *call)
{
    PyObject *report = core_report(call), *list = PyList_New(0);
    for (size_t i = 0; i < call->warning_count; i++)
        core_append(&list, core_shown(call->warning[i]));
    return Py_BuildValue("(NN)", report, list);
}

/* Reads the report of a recording with the series of its page. */
static int recording(struct core_call *call, struct gt_error *error)
{
    struct gt_recording_options options = GT_INIT(struct gt_recording_options);
    options.page = true;
    return gt_recording_report(call->text[0], &options, &call->report, error);
}

static int picture(struct core_call *call, struct gt_error *error)
{
    int status = gt_report_set_picture(call->handle[0], call->number[3], call->text[4]);
    return status < 0
               ? status
               : gt_report_picture(call->handle[0], call->text[1], call->text[2], &call->data, &call->length, error);
}

static int render(struct core_call *call, struct gt_error *error)
{
    return gt_report_render(call->handle[0], call->text[1], &call->data, &call->length, error);
}

static PyObject *tables(struct core_call *call)
{
    PyObject *tables = PyDict_New();
    for (size_t i = 0; tables; i++) {
        struct gt_error error = {0};
        struct core_call one = {.table = NULL};
        const char *key;
        int status = gt_report_table_data(call->handle[0], i, &key, &one.table, &error);
        if (status == -ENOENT)
            break;
        core_put(&tables, key, status < 0 ? core_raise(status, &error) : core_table(&one));
    }
    return tables;
}

static int results_report(struct core_call *call, struct gt_error *error)
{
    return gt_results_report(&call->report, call->text[0], call->text[1], error);
}

static int results_read(struct core_call *call, struct gt_error *error)
{
    return gt_results_json(&call->data, call->text[0], call->text[1], error);
}

static int combine(struct core_call *call, struct gt_error *error)
{
    return gt_blocks_combine(call->text[0], call->texts[1], 0, 0, error);
}

static int static_data(struct core_call *call, struct gt_error *error)
{
    return gt_recording_static(call->text[0], &call->table, error);
}

static int timepoints(struct core_call *call, struct gt_error *error)
{
    return gt_recording_samples(call->text[0], call->array[1], call->count[1], &call->table, error);
}

static int calls(struct core_call *call, struct gt_error *error)
{
    return gt_blocks_calls(call->texts[0], call->text[1], &call->table, error);
}

const struct core_function core_file_functions[] = {
    {"analyze", "pPb", analyze, report_and_warnings,
     "analyze(tracking_file, sub_tracking_files, blocks_optional, /)\n--\n\nAnalyse a recording. Return (report, warnings)."},
    {"compare", "Psbb", compare, report_and_warnings,
     "compare(sessions, statistic, strict, allow_partial, /)\n--\n\nCompare sessions \"NAME=PATH\". Return (report, warnings)."},
    {"results_read", "pz", results_read, core_text,
     "results_read(path, json, /)\n--\n\nRead results from a file, or from the JSON of a file, and return JSON."},
    {"results_report", "ss", results_report, core_report,
     "results_report(type, json, /)\n--\n\nConvert results in JSON to a report."},
    {"recording", "p", recording, core_report,
     "recording(path, /)\n--\n\nReturn the report of a recording, for pages and pictures."},
    {"report_picture", "0zsdz", picture, core_bytes,
     "report_picture(report, charts, kind, width, font, /)\n--\n\nDraw charts of a recording as \"svg\", \"png\" or \"pdf\". None "
     "means all charts, 0 the default width."},
    {"report_text", "0s", render, core_text,
     "report_text(report, format, /)\n--\n\nReturn a report in a format of the program."},
    {"report_tables", "0", NULL, tables, "report_tables(report, /)\n--\n\nReturn the tables of a report by name."},
    {"combine", "pP", combine, core_none, "combine(path, files, /)\n--\n\nCombine sub-tracking files into one file."},
    {"static_data", "p", static_data, core_table,
     "static_data(tracking_file, /)\n--\n\nReturn a table of one row: units, capacities, counts."},
    {"timepoints", "pD", timepoints, core_table,
     "timepoints(tracking_file, spans, /)\n--\n\nReturn the samples of a recording in intervals. None means all samples."},
    {"calls", "Pz", calls, core_table,
     "calls(sub_tracking_files, code_block_name, /)\n--\n\nReturn a table of all calls of all blocks, or of one block."},
    {NULL, NULL, NULL, NULL, NULL},
};
