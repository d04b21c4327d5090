/* The picture of a job: grids compared with files of test/fixture/view, which GOLDEN=1 writes anew. */
#include "base/os/clock.h"
#include "support/test.h"
#include "view/view_draw.h"

enum { ROWS = 40 };

/* ---- A job ------------------------------------------------------------------------------------------------------- */

static struct gt_view_model *model_new(size_t gpus)
{
    struct gt_view_model *model = calloc(1, sizeof *model);
    *model = (struct gt_view_model){.command = "/usr/bin/python train.py --epochs 20",
                                    .host = "node17",
                                    .pid_text = "4711",
                                    .state = GT_VIEW_RUNNING,
                                    .exit_status = -1,
                                    .at = 1872,
                                    .whole = 1872,
                                    .block_at = 1872,
                                    .ram = 13.1e9,
                                    .ram_peak = 13.9e9,
                                    .ram_capacity = 64e9,
                                    .cpu = 1.52,
                                    .cpu_mean = 1.47,
                                    .cores = 16,
                                    .power = 412,
                                    .cpu_power = 96,
                                    .gpu_power = 316,
                                    .energy = 0.21 * 3.6e6,
                                    .progress = {.left = NAN},
                                    .earlier = NAN,
                                    .disk = 31e6,
                                    .disk_read = 41e9,
                                    .disk_written = 1.2e9,
                                    .disk_wait = 0.03};
    model->course = gt_course_new(GT_SECOND / 100, GT_COURSE_SPANS, GT_VIEW_LINES + 2 * gpus, false);
    assert_non_null(model->course);
    double value[GT_VIEW_LINES + 2 * 32];
    for (int i = 0; i <= 1872; i++) {
        value[GT_VIEW_RAM] = 5e9 + 2e9 * (i % 400) / 100 + (i == 1000) * 2e9;
        value[GT_VIEW_CPU] = i ? 1.5 + (i % 600 < 50 ? -1 : 0) : NAN;
        value[GT_VIEW_POWER] = i % 400 < 40 ? 150 : 412;
        value[GT_VIEW_DISK] = i % 400 < 40 ? 200e6 : 1e6;
        for (size_t gpu = 0; gpu < gpus; gpu++) {
            value[GT_VIEW_LINES + 2 * gpu] = gpu % 2 ? 0.02 : i % 400 < 40 ? 0.05 : 0.9;
            value[GT_VIEW_LINES + 2 * gpu + 1] = 31.2e9;
        }
        assert_int_equal(gt_course_take(model->course, i * GT_SECOND, value), 0);
    }
    model->gpu_count = gpus;
    model->gpu = calloc(gpus + 1, sizeof *model->gpu);
    for (size_t i = 0; i < gpus; i++)
        model->gpu[i] = i % 2 ? (struct gt_view_gpu){"H100", 0.02, 0.6e9, 80e9, 71, 38, 0, 0, 0, 0}
                              : (struct gt_view_gpu){"H100", 0.81, 31.2e9, 80e9, 306, 61, i ? 2 : 0, 0, 0, 0};
    return model;
}

static void add_process(struct gt_view_model *model, const char *name, const char *command, unsigned depth,
                        uint64_t open)
{
    size_t i = model->process_count++;
    model->has_detail = true;
    model->process = realloc(model->process, model->process_count * sizeof *model->process);
    struct gt_view_process *process = &model->process[i];
    *process = (struct gt_view_process){.pid = 4711 + (pid_t)(i ? 20 + i : 0),
                                        .cpu = i ? 0.27 - 0.01 * (double)i : 0.98,
                                        .cpu_time = NAN,
                                        .ram = i ? 0.8e9 : 9.8e9,
                                        .peak = i ? 0.9e9 : 10.6e9,
                                        .gpu_ram = i ? NAN : 31.2e9,
                                        .threads = i ? 2 : 34,
                                        .read = 2e9,
                                        .written = 0,
                                        .age = i ? 1800 : 1872,
                                        .depth = depth,
                                        .open = open};
    snprintf(process->name, sizeof process->name, "%s", name);
    snprintf(process->command, sizeof process->command, "%s", command);
}

static void add_block(struct gt_view_model *model, const char *name, unsigned depth, uint64_t open, double mean,
                      uint64_t calls, bool runs)
{
    size_t i = model->block_count++;
    model->block = realloc(model->block, model->block_count * sizeof *model->block);
    struct gt_view_block *block = &model->block[i];
    *block = (struct gt_view_block){.depth = depth,
                                    .open = open,
                                    .running = runs,
                                    .calls = calls,
                                    .now = runs ? mean * 0.9 : NAN,
                                    .total = mean * (double)calls};
    snprintf(block->name, sizeof block->name, "%s", name);
    block->last_count = calls < GT_VIEW_LAST_CALLS ? calls : GT_VIEW_LAST_CALLS;
    for (size_t k = 0; k < block->last_count; k++)
        block->last[k] = mean * (0.8 + 0.1 * (double)(k % 3));
}

static struct gt_view_model *training(size_t gpus)
{
    struct gt_view_model *model = model_new(gpus);
    add_process(model, "python", "/usr/bin/python train.py --epochs 20", 0, 0);
    for (int i = 0; i < 16; i++)
        add_process(model, "pt_data_worker", "/usr/bin/python train.py --epochs 20", 1, i < 15 ? 2 : 0);
    add_block(model, "epoch", 0, 0, 148, 9, true);
    add_block(model, "load", 1, 2, 0.031, 9412, false);
    add_block(model, "train", 1, 0, 109, 9, true);
    add_block(model, "backward", 2, 0, 0.2, 9412, true);
    return model;
}

static void model_free(struct gt_view_model *model)
{
    gt_course_release(model->course);
    free(model->gpu);
    free(model->process);
    free(model->block);
    free(model->call);
    free(model);
}

/* ---- Pictures ---------------------------------------------------------------------------------------------------- */

static char *picture(const struct gt_view_model *model, const struct gt_view_model *before,
                     struct gt_view_choice choice, int columns, int rows, bool ascii)
{
    struct gt_buffer out = {0};
    struct gt_view_grid grid = {columns, rows, calloc((size_t)(columns * rows), sizeof *grid.cell)};
    choice.is_still = true;
    int needed = gt_view_draw_all(&grid, model, before, &choice, NULL);
    if (needed < rows) {
        grid.rows = needed;
        gt_view_draw_all(&grid, model, before, &choice, NULL);
    }
    if (ascii)
        gt_cells_to_ascii(&grid);
    assert_int_equal(gt_cells_write(&grid, &out), 0);
    free(grid.cell);
    return out.data;
}

static void expect(const char *name, char *text)
{
    char path[400], golden[60000] = "";
    snprintf(path, sizeof path, TEST_SOURCE_DIR "/fixture/view/%s.txt", name);
    FILE *file = fopen(path, getenv("GOLDEN") ? "w" : "r");
    assert_non_null(file);
    if (getenv("GOLDEN"))
        fputs(text, file);
    else
        golden[fread(golden, 1, sizeof golden - 1, file)] = '\0';
    fclose(file);
    if (!getenv("GOLDEN"))
        assert_string_equal(text, golden);
    free(text);
}

TEST(test_widths)
{
    struct gt_view_model *model = training(2);
    char name[40];
    for (size_t i = 0; i < 5; i++) {
        int columns = ((const int[]){40, 60, 80, 120, 200})[i];
        snprintf(name, sizeof name, "training-%d", columns);
        expect(name, picture(model, NULL, (struct gt_view_choice){0}, columns, ROWS, false));
    }
    expect("training-ascii", picture(model, NULL, (struct gt_view_choice){0}, 80, ROWS, true));
    expect("training-low", picture(model, NULL, (struct gt_view_choice){0}, 80, 16, false));
    model_free(model);
}

TEST(test_no_line_is_wider_than_the_screen)
{
    struct gt_view_model *model = training(9), *before = training(0);
    for (int columns = 1; columns < 300; columns += columns < 130 ? 1 : 17)
        for (int rows = 1; rows < 60; rows += 7) {
            struct gt_view_grid grid = {columns, rows, calloc((size_t)(columns * rows + 1), sizeof *grid.cell)};
            grid.cell[columns * rows].character = 77;
            gt_view_draw_all(&grid, model, before,
                             &(struct gt_view_choice){.chosen = {.kind = GT_VIEW_PROCESS, .pid = 4711 + 20 + rows % 16},
                                                      .is_alone = rows % 3 == 0},
                             NULL);
            for (int i = 0; i < columns * rows; i++)
                assert_in_range(grid.cell[i].character ? grid.cell[i].character : ' ', ' ', 0x10ffff);
            assert_int_equal(grid.cell[columns * rows].character, 77);
            free(grid.cell);
        }
    model_free(model);
    model_free(before);
}

TEST(test_choices)
{
    struct gt_view_model *model = training(2), *before = training(0);
    expect("flat",
           picture(model, NULL, (struct gt_view_choice){.is_flat = true, .sort = GT_VIEW_BY_CPU, .is_backwards = true},
                   80, ROWS, false));
    expect("hidden",
           picture(model, NULL, (struct gt_view_choice){.hides_gpus = true, .hides_blocks = true, .hides_curves = true},
                   80, ROWS, false));
    expect("filter", picture(model, NULL, (struct gt_view_choice){.filter = "BACK"}, 80, ROWS, false));
    expect("window",
           picture(model, NULL, (struct gt_view_choice){.window = 300, .hides_processes = true}, 80, ROWS, false));
    model->time_limit = 7200;
    expect("limit",
           picture(model, NULL, (struct gt_view_choice){.hides_processes = true, .hides_gpus = true}, 80, ROWS, false));
    model->progress = (struct gt_progress){"epoch", 9, 20, 2280};
    for (size_t i = 0; i < 4; i++) {
        char name[40];
        int columns = ((const int[]){40, 60, 80, 120})[i];
        snprintf(name, sizeof name, "progress-%d", columns);
        expect(name, picture(model, NULL,
                             (struct gt_view_choice){.hides_processes = true, .hides_gpus = true, .hides_blocks = true},
                             columns, ROWS, false));
    }
    model->progress.left = 6000;
    expect("too-late",
           picture(model, NULL,
                   (struct gt_view_choice){.hides_processes = true, .hides_gpus = true, .hides_blocks = true}, 80, ROWS,
                   false));
    model->progress = (struct gt_progress){.left = NAN};
    before->whole = 4000;
    before->ram = 12e9;
    expect("against", picture(model, before, (struct gt_view_choice){.hides_processes = true}, 80, ROWS, false));
    model_free(model);
    model_free(before);
}

/* A row that is chosen, one alone, a block that is followed, other units: at each width. */
TEST(test_chosen)
{
    struct gt_view_model *model = training(2);
    const struct gt_view_item block = {GT_VIEW_BLOCK, "train", 0}, process = {GT_VIEW_PROCESS, "", 4711},
                              last = {GT_VIEW_PROCESS, "", 4711 + 20 + 16}, gone = {GT_VIEW_PROCESS, "", 7};
    double value[GT_VIEW_LINES + 2 * 2 + GT_VIEW_ALONE_LINES];
    gt_course_release(model->course);
    model->course = gt_course_new(GT_SECOND / 100, GT_COURSE_SPANS, sizeof value / sizeof *value, false);
    for (int i = 0; i <= 1872; i++) {
        for (size_t line = 0; line < sizeof value / sizeof *value; line++)
            value[line] = i % 400 / 400.0 * (line == GT_VIEW_CPU || line == 4 || line == 6 || line == 8 ? 1 : 1e9);
        assert_int_equal(gt_course_take(model->course, i * GT_SECOND, value), 0);
    }
    model->call = calloc(GT_VIEW_CALLS, sizeof *model->call);
    for (model->call_count = 0; model->call_count < 9; model->call_count++)
        model->call[model->call_count] = 100 + (double)(model->call_count % 4) * 10;
    for (size_t i = 0; i < model->block_count; i++) {
        model->block[i].latest = 1700;
        model->block[i].latest_elapsed = model->block[i].running ? NAN : 109;
        model->block[i].least = 100;
        model->block[i].most = 130;
    }
    for (size_t i = 0; i < 5; i++) {
        int columns = ((const int[]){40, 60, 80, 120, 200})[i];
        char name[40];
        snprintf(name, sizeof name, "alone-block-%d", columns);
        expect(name,
               picture(model, NULL, (struct gt_view_choice){.chosen = block, .is_alone = true}, columns, 24, false));
        snprintf(name, sizeof name, "alone-process-%d", columns);
        expect(name,
               picture(model, NULL, (struct gt_view_choice){.chosen = process, .is_alone = true, .is_binary = true},
                       columns, 24, false));
        snprintf(name, sizeof name, "followed-%d", columns);
        struct gt_view_choice follows = {.chosen = block, .follow = "train", .is_binary = true};
        expect(name, picture(model, NULL, follows, columns, 24, false));
    }
    expect("alone-ascii",
           picture(model, NULL, (struct gt_view_choice){.chosen = process, .is_alone = true}, 80, 24, true));
    expect("alone-gone",
           picture(model, NULL, (struct gt_view_choice){.chosen = gone, .is_alone = true}, 80, 24, false));
    expect("chosen-last", picture(model, NULL, (struct gt_view_choice){.chosen = last}, 80, 20, false));
    model->progress = (struct gt_progress){"epoch", 9, 20, 2280};
    expect("followed-progress",
           picture(model, NULL, (struct gt_view_choice){.chosen = block, .follow = "epoch"}, 80, 20, false));
    expect("filter-processes", picture(model, NULL, (struct gt_view_choice){.filter = "pt_data"}, 80, 40, false));
    model_free(model);
}

/* Each row tells what it is about, where it is. */
TEST(test_places)
{
    struct gt_view_model *model = training(0);
    struct gt_view_places places = {.count = 5};
    for (int columns = 80; columns <= 120; columns += 40) {
        struct gt_view_grid grid = {columns, 40, calloc((size_t)columns * 40, sizeof *grid.cell)};
        const struct gt_view_choice choice = {.filter = ""};
        gt_view_draw_all(&grid, model, NULL, &choice, &places);
        assert_int_equal(places.count, 4 + 17);
        assert_string_equal(places.place[0].item.name, "epoch");
        assert_true(places.place[4].item.kind == GT_VIEW_PROCESS && places.place[4].item.pid == 4711);
        assert_true((places.place[4].column > 0) == (columns == 120) && places.place[5].row == places.place[4].row + 1);
        free(grid.cell);
    }
    struct gt_view_item *item;
    const struct gt_view_choice choice = {.filter = "a"};
    const struct gt_view_picture picture = {.model = model, .choice = &choice};
    assert_int_equal(gt_view_items(&picture, &item), 3 + 17); /* load, train, backward; pt_data_worker, train.py */
    assert_true(item[0].kind == GT_VIEW_BLOCK && !strcmp(item[0].name, "load") && item[3].pid == 4711);
    free(item);
    model_free(model);
}

TEST(test_states)
{
    struct gt_view_model *model = training(0), empty = {.state = GT_VIEW_WAITING};
    model->ram = 63e9;
    model->swap = 1e9;
    model->state = GT_VIEW_SILENT;
    model->silence = 92;
    expect("silent", picture(model, NULL, (struct gt_view_choice){.hides_processes = true}, 80, ROWS, false));
    size_t processes = model->process_count;
    model->has_detail = false;
    model->process_count = 0;
    expect("plain", picture(model, NULL, (struct gt_view_choice){0}, 80, ROWS, false));
    model->has_detail = true;
    model->process_count = processes;
    model->state = GT_VIEW_ENDED;
    model->exit_status = 137;
    model->has_ended_processes = true;
    for (size_t i = 0; i < processes; i++)
        model->process[i].cpu_time = i ? 0.03 : 75;
    model->disk_read = model->disk_written = model->energy = model->cores = model->ram_capacity = NAN;
    expect("ended", picture(model, NULL, (struct gt_view_choice){0}, 80, 20, false));
    expect("waiting", picture(&empty, NULL, (struct gt_view_choice){0}, 80, ROWS, false));
    model_free(model);
}

TEST(test_many_gpus)
{
    struct gt_view_model *model = training(20);
    expect("gpus", picture(model, NULL, (struct gt_view_choice){.hides_processes = true}, 100, 24, false));
    model_free(model);
}

/* What a terminal would obey, characters of two columns and of none, and bytes that are none. */
TEST(test_hostile_names)
{
    struct gt_view_model *model = model_new(0);
    strcpy(model->command,
           "a\nb\x1b[31m\x1b]0;title\x07\xe2\x80\xae\xff \xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97 %s%n");
    add_process(model, "\xe6\xbc\xa2\xe5\xad\x97\n", "", 0, 0);
    add_process(model, "", "", 1, 0);
    add_process(model, "", "\x1b[2J\r\t\xf0\x9f\x98\x80\xf0\x9f\x98\x80 e\xcc\x81\xcc\x81\xcc\x81 \xe2\x80\x8b", 2, 0);
    add_block(
        model,
        "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2",
        0, 0, 1, 3, true);
    expect("hostile-80", picture(model, NULL, (struct gt_view_choice){0}, 80, ROWS, false));
    expect("hostile-40", picture(model, NULL, (struct gt_view_choice){0}, 40, ROWS, false));
    expect("hostile-ascii", picture(model, NULL, (struct gt_view_choice){0}, 80, ROWS, true));
    model_free(model);
}

/* ---- The line of run --status ------------------------------------------------------------------------------------ */

static void add_status(struct gt_buffer *all, const struct gt_view_model *model, int columns, bool ascii)
{
    struct gt_view_grid grid = {columns, 1, calloc((size_t)columns, sizeof *grid.cell)};
    gt_view_status_draw(&grid, model);
    if (ascii)
        gt_cells_to_ascii(&grid);
    assert_int_equal(gt_cells_write(&grid, all), 0);
    free(grid.cell);
}

TEST(test_status)
{
    struct gt_buffer all = {0};
    struct gt_view_model *model = training(2), *many = training(9), *plain = model_new(0);
    model->progress = (struct gt_progress){"epoch", 9, 20, 2280};
    for (int columns = 10; columns <= 130; columns += 10)
        add_status(&all, model, columns, false);
    many->time_limit = 7200;
    add_status(&all, many, 80, false);
    plain->earlier = 4000;
    plain->cores = plain->ram_capacity = NAN;
    strcpy(plain->command, "./run.sh --fast");
    add_status(&all, plain, 80, false);
    strcpy(plain->command, "a\nb\x1b[31m\xe2\x80\xae\xff\xe6\xbc\xa2\xe5\xad\x97 x");
    snprintf(plain->progress.name, sizeof plain->progress.name, "\x1b]0;\x07\xe6\xbc\xa2\n%%s");
    plain->progress.total = 3;
    add_status(&all, plain, 80, false);
    add_status(&all, plain, 80, true);
    for (int columns = 1; columns < 8; columns++)
        add_status(&all, plain, columns, true);
    expect("status", all.data);
    model_free(model);
    model_free(many);
    model_free(plain);
}
