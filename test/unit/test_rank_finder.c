/* Processes of a tree are asked for their rank once for each program that they execute. */
#include "base/root.h"
#include "sample/rank_finder.h"
#include "support/folder.h"
#include "support/test.h"

struct scene {
    struct gt_root root;
    struct gt_rank_finder finder;
    struct gt_process process, *list[1];
    struct gt_tree tree;
};

static void look(struct scene *scene, const char *environment)
{
    folder_put(test_folder, "proc/7/environ", environment);
    assert_int_equal(gt_rank_finder_look(&scene->finder, &scene->root, &scene->tree), 0);
}

static int rank_of(const struct scene *scene)
{
    return scene->process.rank ? scene->process.rank->figures.rank : -1;
}

static void open_scene(struct scene *scene)
{
    *scene = (struct scene){.process = {.pid = 7, .parent = 1}};
    scene->list[0] = &scene->process;
    scene->tree = (struct gt_tree){.root = &scene->root, .process = scene->list, .count = 1};
    assert_int_equal(gt_root_open(&scene->root, test_folder, NULL), 0);
}

static void close_scene(struct scene *scene)
{
    gt_rank_finder_close(&scene->finder);
    gt_root_close(&scene->root);
}

TEST_WITH(asked_again_only_with_another_name, folder_make, folder_remove)
{
    struct scene scene;
    open_scene(&scene);
    memset(scene.process.name, 'x', sizeof scene.process.name);
    strcpy(scene.process.name, "python");
    look(&scene, "PMI_RANK=1");
    assert_int_equal(rank_of(&scene), 1);
    memset(scene.process.name, 'y', sizeof scene.process.name); /* what lies behind the name is nobody's */
    strcpy(scene.process.name, "python");
    look(&scene, "PMI_RANK=2");
    assert_int_equal(rank_of(&scene), 1);
    strcpy(scene.process.name, "pytest");
    look(&scene, "PMI_RANK=2");
    assert_int_equal(rank_of(&scene), 2);
    close_scene(&scene);
}

/* The kernel gives a process its new name before its new environment can be read. */
TEST_WITH(asked_again_while_its_program_is_loaded, folder_make, folder_remove)
{
    struct scene scene;
    open_scene(&scene);
    strcpy(scene.process.name, "mpirun");
    scene.process.is_forked = true;
    look(&scene, "PMI_RANK=7");
    assert_int_equal(rank_of(&scene), -1);
    strcpy(scene.process.name, "python");
    scene.process.is_forked = false;
    look(&scene, "");
    assert_int_equal(rank_of(&scene), -1);
    look(&scene, "PMI_RANK=1");
    assert_int_equal(rank_of(&scene), 1);
    look(&scene, "PMI_RANK=2");
    assert_int_equal(rank_of(&scene), 1);
    close_scene(&scene);
}

/* A short process was seen before its parent, the main process, could be asked. */
TEST_WITH(the_place_of_the_tracker_is_none_below_it, folder_make, folder_remove)
{
    struct scene scene;
    struct gt_process tracker = {.pid = 1};
    setenv("PMI_RANK", "6", 1);
    open_scene(&scene);
    scene.tree.tracker = &tracker;
    strcpy(scene.process.name, "bash");
    look(&scene, "PMI_RANK=6");
    assert_int_equal(rank_of(&scene), -1);
    strcpy(scene.process.name, "python");
    look(&scene, "SLURM_PROCID=0");
    assert_int_equal(rank_of(&scene), -1); /* as around mpirun */
    strcpy(scene.process.name, "sh");
    look(&scene, "PMI_RANK=5");
    assert_int_equal(rank_of(&scene), 5);
    unsetenv("PMI_RANK");
    close_scene(&scene);
}
