/* The summary as people see it: what it says, grids at several widths against golden files, and what gives way where it is narrow. */
#include "base/os/file.h"
#include "base/utf8.h"
#include "gpu_tracker.h"
#include "report/brief.h"
#include "support/reports.h"
#include "support/test.h"

static struct gt_brief_curve rising(double top)
{
    struct gt_brief_curve curve;
    for (int i = 0; i < GT_BRIEF_CELLS; i++)
        curve.cell[i] = top * (i + 1) / GT_BRIEF_CELLS;
    return curve;
}

/* A job on two GPUs in an allocation of Slurm. */
static struct gt_report *training(void)
{
    struct gt_report *report = report_of("resource_usage");
    struct gt_brief *brief = gt_brief_add(&report->root, "python train.py --epochs 20", "exit 0, 1 h 12 min", false);
    struct gt_brief_curve memory = rising(1), gpu = rising(0.9), idle = rising(0.02);
    gt_brief_line(brief, "memory", "13.9 GB", &memory, "%s", "peak; 22 % of 64 GB asked for");
    gt_brief_line(brief, "cpu", "1.52", &memory, "%s", "cores busy of 16: 9 % efficient");
    gt_brief_line(brief, "gpu 0", "81 %", &gpu, "%s", "busy; 31.2 of 80 GB; 306 W");
    gt_brief_line(brief, "gpu 1", "2 %", &idle, "%s", "busy; 0.60 of 80 GB; 71 W");
    gt_brief_line(brief, "disk", NULL, NULL, "%s", "41 GB read, 1.2 GB written; 3 % of the time waiting for it");
    gt_brief_line(brief, "energy", NULL, NULL, "%s", "0.52 kWh ± 0.03 (cpu 0.11, gpu 0.41)   29 g CO2e   0.16 EUR");
    gt_brief_warning(brief, NULL, NULL, "%s", "gpu 1 was idle: below 5 % for 98 % of the time");
    gt_brief_warning(brief, "it grew by 0.4 GB a second at the end, in block \"load\"", NULL, "%s",
                     "the kernel killed python (pid 4711, 15.7 GB) at the limit of 16.0 GB");
    gt_brief_warning(brief, NULL, NULL, "%s", "64 GB asked for, 13.9 GB used");
    gt_brief_warning(brief, NULL, NULL, "%s", "a fourth is one too many");
    gt_brief_request(brief, "next time, from this one run:", "--mem=16G --cpus-per-task=2 --gpus=1 --time=1:30:00");
    gt_brief_more(brief, "all values: gpu-tracker report run.sqlite -o run.html");
    return report;
}

static void is_as_stored(struct gt_report *report, const char *name)
{
    char path[4096];
    struct gt_buffer out = {0}, stored = {0};
    snprintf(path, sizeof path, "%s/fixture/summary/%s.txt", TEST_SOURCE_DIR, name);
    assert_int_equal(gt_report_write(report, "summary", &out, NULL), 0);
    if (getenv("TEST_STORE")) { /* to be looked at before it is committed */
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(out.data, file);
        fclose(file);
    }
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (int c; (c = fgetc(file)) != EOF;)
        gt_buffer_char(&stored, (char)c);
    fclose(file);
    gt_buffer_text(&stored, "");
    assert_string_equal(out.data, stored.data);
    gt_buffer_release(&out);
    gt_buffer_release(&stored);
}

/* No line but what is to be pasted is wider, and there are 25 of them at most. */
static void fits(const struct gt_report *report, size_t width)
{
    struct gt_buffer out = {0};
    size_t lines = 0;
    assert_int_equal(gt_report_write(report, "summary", &out, NULL), 0);
    for (char *rest = out.data, *line; (line = strsep(&rest, "\n")) && rest; lines++)
        if (!strstr(line, "--mem"))
            assert_in_range(gt_utf8_columns(line), 0, width);
    assert_in_range(lines, 1, 25);
    gt_buffer_release(&out);
}

TEST(test_widths)
{
    static const size_t widths[] = {40, 60, 80, 120};
    struct gt_report *report = training();
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        char name[32];
        snprintf(name, sizeof name, "training_%zu", widths[i]);
        gt_report_set_width(report, widths[i]);
        fits(report, widths[i] < 78 ? widths[i] : 78);
        is_as_stored(report, name);
    }
    gt_report_set_style(report, GT_STYLE_ASCII);
    is_as_stored(report, "training_ascii");
    gt_report_free(report);
}

/* Colour only says again what words say. */
TEST(test_colour)
{
    struct gt_report *report = report_of("resource_usage");
    struct gt_brief *brief = gt_brief_add(&report->root, "prep.py", "OUT OF MEMORY, killed at 41 s", true);
    gt_brief_warning(brief, NULL, NULL, "%s", "it was killed");
    gt_report_set_width(report, 50);
    assert_writes(report, "summary", "gpu-tracker  prep.py\n  OUT OF MEMORY, killed at 41 s\n\n  ! it was killed\n");
    gt_report_set_style(report, GT_STYLE_COLOUR);
    assert_writes(
        report, "summary",
        "gpu-tracker  prep.py\n  \033[31mOUT OF MEMORY, killed at 41 s\033[0m\n\n  \033[33m!\033[0m it was killed\n");
    gt_report_free(report);
}

/* No name adds a line, moves the cursor or hides how it ended. */
TEST(test_hostile_names)
{
    struct gt_report *report = report_of("resource_usage");
    struct gt_brief *brief = gt_brief_add(&report->root, "a\nexit 0\033[2J", "exit 1, 2 s", false);
    gt_brief_line(brief, "biggest", NULL, NULL, "x\n\033[31m 1 GB");
    gt_brief_warning(brief, NULL, NULL, "%s", "killed evil\r\n  ! nothing");
    assert_writes(report, "summary",
                  "gpu-tracker  a\\nexit 0\\x1b[2J                                      exit 1, 2 s\n\n"
                  "  biggest   x\\n\\x1b[31m 1 GB\n\n"
                  "  ! killed evil\\r\\n  ! nothing\n");
    gt_report_free(report);
}
