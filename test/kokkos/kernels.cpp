/* Kernels, a region and a reduction of Kokkos, so many as test_kokkos.py knows. */
#include <Kokkos_Core.hpp>
#include <cstdio>

enum { ROWS = 1000, TIMES = 5 };

static void solve()
{
    double sum = 0;
    Kokkos::View<double *> values("values", ROWS);
    Kokkos::Profiling::pushRegion("solve");
    for (int i = 0; i < TIMES; i++) {
        Kokkos::parallel_for("fill, \"all\"", ROWS, KOKKOS_LAMBDA(int row) { values(row) = row; });
        Kokkos::parallel_reduce(
            "sum", ROWS, KOKKOS_LAMBDA(int row, double &part) { part += values(row); }, sum);
    }
    Kokkos::Profiling::popRegion();
    Kokkos::parallel_scan(
        "scan", ROWS, KOKKOS_LAMBDA(int row, double &part, bool is_last) {
            part += values(row);
            if (is_last)
                values(row) = part;
        });
    std::printf("%g\n", sum);
}

int main(int argc, char **argv)
{
    Kokkos::initialize(argc, argv);
    solve();
    Kokkos::finalize();
}
