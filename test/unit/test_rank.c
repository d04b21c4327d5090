/* The place of a process in a parallel job, as launchers tell it. */
#include "base/os/rank.h"
#include "support/test.h"

#define TORCHRUN "LOCAL_RANK", "0", "LOCAL_WORLD_SIZE", "2", "WORLD_SIZE", "4"

/* `variables`: "NAME", "VALUE", ..., NULL. */
static struct gt_environment environment_of(const char *const *variables, char *text, size_t size)
{
    struct gt_environment environment = {.text = text};
    for (; *variables; variables += 2)
        environment.length += (size_t)snprintf(text + environment.length, size - environment.length, "%s=%s",
                                               variables[0], variables[1]) +
                              1;
    return environment;
}

static void check_job(const char *const *variables, const char *expected)
{
    char name[40], text[1000];
    struct gt_environment environment = environment_of(variables, text, sizeof text);
    gt_rank_job_name(name, sizeof name, &environment);
    assert_string_equal(name, expected);
}

TEST(test_names_of_jobs)
{
    check_job((const char *[]){NULL}, "");
    check_job((const char *[]){"SLURM_JOB_ID", "42", NULL}, "42");
    check_job((const char *[]){"SLURM_JOB_ID", "42", "SLURM_CLUSTER_NAME", "alps", "SLURM_STEP_ID", "0", NULL},
              "alps:42.0");
    check_job((const char *[]){"SLURM_JOB_ID", "43", "SLURM_ARRAY_JOB_ID", "42", "SLURM_ARRAY_TASK_ID", "7", NULL},
              "42_7");
    check_job((const char *[]){"SLURM_JOB_ID", "43", "SLURM_HET_JOB_ID", "42", NULL}, "42");
    check_job((const char *[]){"SLURM_JOB_ID", "42", "SLURM_RESTART_COUNT", "2", NULL}, "42+2");
    check_job((const char *[]){"SLURM_JOB_ID", "42", "SLURM_RESTART_COUNT", "0", NULL}, "42");
    check_job((const char *[]){"GPU_TRACKER_JOB", "mine", "SLURM_JOB_ID", "42", NULL}, "mine");
    check_job((const char *[]){"PMIX_NAMESPACE", "77", "OMPI_COMM_WORLD_RANK", "1", "OMPI_MCA_orte_hnp_uri", "a", NULL},
              "77-0eda6095");
    check_job((const char *[]){"PMIX_NAMESPACE", "prterun-n0-7@1", "PMIX_RANK", "1", NULL}, "prterun-n0-7_1");
    check_job((const char *[]){"RANK", "0", TORCHRUN, "TORCHELASTIC_RUN_ID", "a/../b", NULL}, "a____b");
    check_job((const char *[]){"RANK", "0", TORCHRUN, "TORCHELASTIC_RUN_ID", "none", NULL}, "");
    check_job((const char *[]){"RANK", "0", TORCHRUN, "TORCHELASTIC_RUN_ID", "night", "TORCHELASTIC_RESTART_COUNT", "2",
                               NULL},
              "night+2");
    check_job((const char *[]){"RANK", "0", TORCHRUN, "SLURM_JOB_ID", "42", "TORCHELASTIC_RESTART_COUNT", "0", NULL},
              "42");
    check_job((const char *[]){"RANK", "0", TORCHRUN, "GPU_TRACKER_JOB", "x", "TORCHELASTIC_RESTART_COUNT", "1", NULL},
              "x+1");
    check_job((const char *[]){"LSB_JOBID", "5", "LSB_JOBINDEX", "3", NULL}, "5_3");
}

static void check_place(const char *const *variables, const struct gt_rank_place *expected)
{
    char text[1000];
    struct gt_environment environment = environment_of(variables, text, sizeof text);
    struct gt_rank_place place;
    gt_rank_place(&place, &environment);
    assert_string_equal(place.launcher ? place.launcher : "", expected->launcher ? expected->launcher : "");
    assert_int_equal(place.rank, expected->rank);
    assert_int_equal(place.local, expected->local);
    assert_int_equal(place.size, expected->size);
}

TEST(test_the_nearest_launcher_tells_the_place)
{
    check_place((const char *[]){NULL}, &(struct gt_rank_place){NULL, -1, -1, -1, 0});
    check_place((const char *[]){"SLURM_PROCID", "0", "SLURM_STEP_ID", "0", "SLURM_STEP_NUM_TASKS", "2",
                                 "OMPI_COMM_WORLD_RANK", "5", "OMPI_COMM_WORLD_LOCAL_RANK", "1", "OMPI_COMM_WORLD_SIZE",
                                 "8", NULL},
                &(struct gt_rank_place){"OpenMPI", 5, 1, 8, 0});
    check_place((const char *[]){"RANK", "3", "LOCAL_RANK", "1", "LOCAL_WORLD_SIZE", "2", "WORLD_SIZE", "4", NULL},
                &(struct gt_rank_place){"torchrun", 3, 1, 4, 0});
    check_place((const char *[]){"RANK", "3", "WORLD_SIZE", "4", "KUBERNETES_SERVICE_HOST", "10.0.0.1", NULL},
                &(struct gt_rank_place){"Kubernetes", 3, -1, 4, 0});
    check_place((const char *[]){"RANK", "3", "LOCAL_RANK", "1", "WORLD_SIZE", "4", NULL},
                &(struct gt_rank_place){"RANK and WORLD_SIZE", 3, 1, 4, 0});
    check_place((const char *[]){"PMI_RANK", "one", NULL}, &(struct gt_rank_place){"PMI", -1, -1, -1, 0});
}
