/* Names of kernels as people read them. */
#include "base/function_name.h"
#include "support/test.h"

static void assert_name(const char *name, const char *wanted)
{
    struct gt_buffer out = {0};
    gt_function_name(&out, name, "…");
    assert_string_equal(out.data, wanted);
    gt_buffer_release(&out);
}

TEST(arguments_of_arguments_are_folded)
{
    assert_name(
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >"
        "(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
        "vectorized_elementwise_kernel<4, CUDAFunctor_add<…>, array<…>>");
    assert_name("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_16x6_tn_align4>"
                "(cutlass_80_tensorop_s1688gemm_128x64_16x6_tn_align4::Params)",
                "Kernel<cutlass_80_tensorop_s1688gemm_128x64_16x6_tn_align4>");
    assert_name("void at::native::(anonymous namespace)::softmax<8, float, (bool)1>(float *)",
                "softmax<8, float, (bool)1>");
    assert_name("void a::b<c::d<e::f<int> >, g>::h::k<int>(int)", "k<int>");
    assert_name("x<y<int>::z>", "x<z>");
    assert_name("void f<g<h<int, 3>, j>, 2>(int)", "f<g<…>, 2>");
    assert_name("A<int>::operator()(float)", "operator()");
}

TEST(other_names_stay)
{
    static const char *const names[] = {"ampere_sgemm_128x64_nn",
                                        "aten::mm",
                                        "Memcpy HtoD (Pinned -> Device)",
                                        "Memset (Device)",
                                        "<built-in method f>",
                                        "module.py(15): <lambda>",
                                        "operator<<(a, b)",
                                        "torn<4, f",
                                        "",
                                        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclArgs)"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_name(names[i], names[i]);
}
