#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tenure/check/check.h"
#include "tenure/check/checks.h"
#include "tenure/kernels/parallel.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/operators.h"
#include "tests/harness/passes.h"
#include "tests/support/record_of.h"
#include "tests/support/update_op.h"

// The harness itself: a good op passes, and each way of breaking a promise is noticed.

namespace tenure::check {
namespace {

using ops::Attributes;
using ops::Kernel;
using ops::OpRecord;
using ops::Reference;
using ops::Sample;
using ops::Specs;
using ops::View;
using test::record_of;

/// 2 x.
struct Twice {
  static constexpr auto family = "test";
  static constexpr auto name = "twice";
  static constexpr auto signature = "twice(x)";
  static constexpr auto doc = "2 x";
  static constexpr auto memory = ops::reuses(1);
  static constexpr auto types = 1u << static_cast<int>(DType::float32);
  static Specs infer(const Kernel& k) { return {{k.in[0].dtype, k.in[0].shape}}; }
  static void run(const Kernel& k) {
    const View& in = k.in[0];
    for (std::int64_t i = 0; i < in.count(); ++i) {
      std::int64_t rest = i;
      std::int64_t at = 0;
      for (int axis = in.shape.size() - 1; axis >= 0; --axis) {
        at += rest % in.shape[axis] * in.strides[axis];
        rest /= in.shape[axis];
      }
      k.out[0].as<float>()[i] = 2 * in.as<const float>()[at];
    }
  }
  static std::vector<Sample> samples() { return {{.inputs = {{.shape = {3, 5}}}}}; }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    Reference out = in[0];
    for (long double& value : out.values) value *= 2;
    return {out};
  }
};

struct Imprecise : Twice {
  static void run(const Kernel& k) {
    Twice::run(k);
    float& last = k.out[0].as<float>()[k.out[0].count() - 1];
    last = std::nextafter(last, 100.0F);
  }
};

struct WantsContiguous : Twice {
  static void run(const Kernel& k) {
    if (k.in[0].contiguous()) return Twice::run(k);
    std::fill_n(k.out[0].as<float>(), k.out[0].count(), 0.0F);
  }
};

struct OverwritesItsInput : Twice {
  static constexpr auto memory = ops::allocates();
  static void run(const Kernel& k) {
    Twice::run(k);
    if (k.in[0].count() > 0) k.in[0].as<float>()[0] = 0;
  }
};

struct AllocatesSecretly : Twice {
  static void run(const Kernel& k) {
    const Tensor scratch = zeros(k.in[0].shape);
    Twice::run(k);
  }
};

struct SharesItsStorage : Twice {
  static std::optional<ops::ViewSpec> view(const Kernel& k) {
    return ops::ViewSpec{.shape = k.in[0].shape, .strides = k.in[0].strides};
  }
};

struct TakesMore : Twice {
  static constexpr auto types = Twice::types | 1u << static_cast<int>(DType::int32);
};

struct HasNoSamples : Twice {
  static std::vector<Sample> samples() { return {}; }
};

struct WrongShape : Twice {
  static Specs infer(const Kernel& k) { return {{k.in[0].dtype, {count(k.in[0].shape)}}}; }
};

TEST(Harness, OutputsInInputsOfTheirNumber) {
  expect(check_record, test::momentum_record());
  expect(check_numerics, test::momentum_record());
  expect(check_layouts, test::momentum_record());
  expect(check_memory, test::momentum_record());
  expect(check_faults, test::momentum_record());
}

TEST(Harness, PassesAGoodOp) {
  for (const auto check : {check_record, check_numerics, check_layouts, check_special_values,
                           check_scalars, check_memory, check_errors, check_faults}) {
    EXPECT_TRUE(passes(check, record_of<Twice>()));
  }
}

TEST(Harness, NoticesWrongResults) {
  EXPECT_FALSE(passes(check_numerics, record_of<Imprecise>()));
  EXPECT_FALSE(passes(check_numerics, record_of<WrongShape>()));
  EXPECT_FALSE(passes(check_layouts, record_of<WantsContiguous>()));
  EXPECT_TRUE(passes(check_numerics, record_of<WantsContiguous>()));
}

TEST(Harness, ReportsOnAUsersOp) {
  OpRecord good = record_of<Twice>();
  good.name = "users_twice";
  const OpReport passed = check_op(define_op(good, ops::make_slot<Twice>()));
  EXPECT_TRUE(passed.ok()) << to_string(passed);
  OpRecord greedy = record_of<AllocatesSecretly>();
  greedy.name = "users_greedy";
  const OpReport failed = check_op(define_op(greedy, ops::make_slot<AllocatesSecretly>()));
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.failures.front().find("users_greedy, memory effect"), std::string::npos)
      << to_string(failed);
  EXPECT_THROW(define_op(good, ops::make_slot<Twice>()), ValueError);
  EXPECT_THROW(define_op(OpRecord{}), ValueError);
  good.name = "tanh";
  EXPECT_THROW(define_op(good, ops::make_slot<Twice>()), ValueError);
}

TEST(Harness, NoticesWrongMemoryEffects) {
  EXPECT_FALSE(passes(check_memory, record_of<OverwritesItsInput>()));
  EXPECT_FALSE(passes(check_memory, record_of<AllocatesSecretly>()));
  EXPECT_FALSE(passes(check_memory, record_of<SharesItsStorage>()));
  OpRecord promises_workspace = record_of<Twice>();
  promises_workspace.memory.workspace = true;
  const ops::KernelSlot kernel = ops::make_slot<Twice>();
  promises_workspace.kernels.set(cpu, kernel);
  EXPECT_FALSE(passes(check_record, promises_workspace));
}

struct WritesPastItsOutput : Twice {
  static constexpr auto memory = ops::allocates();
  static void run(const Kernel& k) {
    Twice::run(k);
    k.out[0].as<float>()[k.out[0].count()] = 1;
  }
};

struct WritesBeforeItsOutput : Twice {
  static constexpr auto memory = ops::allocates();
  static void run(const Kernel& k) {
    Twice::run(k);
    k.out[0].as<float>()[-1] = 1;
  }
};

struct WritesPastItsWorkspace : Twice {
  static constexpr auto memory = ops::allocates().with_workspace();
  static std::size_t workspace(const Kernel&) { return 12; }
  static void run(const Kernel& k) {
    std::fill_n(k.workspace.data(), 13, std::byte{1});
    Twice::run(k);
  }
};

struct SkipsAnElement : Twice {
  static constexpr auto memory = ops::allocates();
  static void run(const Kernel& k) {
    const float last = k.out[0].as<float>()[k.out[0].count() - 1];
    Twice::run(k);
    k.out[0].as<float>()[k.out[0].count() - 1] = last;
  }
};

struct Leaks : Twice {
  static inline std::vector<std::byte*> leaked{};  // so that it is none to sanitizers
  static void run(const Kernel& k) {
    leaked.push_back(new std::byte[100]);
    Twice::run(k);
  }
};

TEST(Harness, NoticesWritesBesideWhatIsGiven) {
  EXPECT_TRUE(passes(check_bounds, record_of<Twice>()));
  EXPECT_FALSE(passes(check_bounds, record_of<WritesPastItsOutput>()));
  EXPECT_FALSE(passes(check_bounds, record_of<WritesBeforeItsOutput>()));
  EXPECT_FALSE(passes(check_bounds, record_of<WritesPastItsWorkspace>()));
  EXPECT_FALSE(passes(check_bounds, record_of<SkipsAnElement>()));
}

struct InParts : Twice {
  static std::optional<ops::Parts> parts(const Kernel&) { return ops::Parts{.in = 1}; }
};

struct CountsItsRows : InParts {
  static void run(const Kernel& k) {
    Twice::run(k);
    if (k.out[0].count() > 0) k.out[0].as<float>()[0] += static_cast<float>(k.out[0].shape[0]);
  }
};

/// The sum of the rows, which does not go on where it is told to.
struct BeginsAgain : InParts {
  static constexpr auto memory = ops::allocates();
  static constexpr bool adds = true;
  static std::optional<ops::Parts> parts(const Kernel&) { return ops::Parts{.in = 1, .sums = 1}; }
  static Specs infer(const Kernel& k) { return {{k.in[0].dtype, {k.in[0].shape[1]}}}; }
  static void add_rows(const Kernel& k) {
    const View& in = k.in[0];
    for (std::int64_t row = 0; row < in.shape[0]; ++row) {
      for (std::int64_t i = 0; i < in.shape[1]; ++i) {
        k.out[0].as<float>()[i] += in.as<const float>()[row * in.strides[0] + i * in.strides[1]];
      }
    }
  }
  static void run(const Kernel& k) {
    std::fill_n(k.out[0].as<float>(), k.out[0].count(), 0.0F);
    add_rows(k);
  }
};

struct GoesOn : BeginsAgain {
  static void run(const Kernel& k) { k.adds ? add_rows(k) : BeginsAgain::run(k); }
};

TEST(Harness, NoticesOtherBitsInParts) {
  EXPECT_TRUE(passes(check_parts, record_of<InParts>()));
  EXPECT_FALSE(passes(check_parts, record_of<CountsItsRows>()));
  EXPECT_FALSE(passes(check_parts, record_of<BeginsAgain>()));
  EXPECT_TRUE(passes(check_parts, record_of<GoesOn>()));
}

TEST(Harness, NoticesLeaksOnTheHeap) {
  EXPECT_TRUE(passes(check_heap, record_of<Twice>()));
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_FALSE(passes(check_heap, record_of<Leaks>()));
  for (std::byte* const memory : Leaks::leaked) delete[] memory;
  Leaks::leaked.clear();
#endif
}

void gradient_of_twice(ops::Backward& b) {
  if (b.wants(0)) b.results[0] = b.gradients[0] * 2;
}
void wrong_gradient(ops::Backward& b) {
  if (b.wants(0)) b.results[0] = b.gradients[0] * 2.01;
}

struct Differentiable : Twice {
  static constexpr ops::GradientRule gradient{.run = gradient_of_twice};
};
struct WronglyDifferentiated : Twice {
  static constexpr ops::GradientRule gradient{.run = wrong_gradient};
};

TEST(Harness, NoticesWrongGradientsInAnyType) {
  EXPECT_TRUE(passes(check_gradient, record_of<Differentiable>()));
  EXPECT_TRUE(passes(check_gradient_modes, record_of<Differentiable>()));
  EXPECT_FALSE(passes(check_gradient, record_of<WronglyDifferentiated>()));
}

void greedy_gradient(ops::Backward& b) {
  b.results[0] = mul(b.gradient(), b.input(1));
  b.results[1] = mul(b.gradient(), b.input(0));
}
void modest_gradient(ops::Backward& b) {
  if (b.wants(0)) b.results[0] = mul(b.gradient(), b.input(1));
  if (b.wants(1)) b.results[1] = mul(b.gradient(), b.input(0));
}

/// Its gradients read the other input, by which one of them is not asked for alone.
TEST(Harness, NoticesGradientsThatReadWhatIsNotThere) {
  static constexpr std::array<ops::GradientRule::Needs, 4> kNeeds{
      {ops::input_data(1), ops::input_data(0)}};
  static constexpr ops::GradientRule greedy{.needs = kNeeds, .run = greedy_gradient};
  static constexpr ops::GradientRule modest{.needs = kNeeds, .run = modest_gradient};
  OpRecord product = record_of<Twice>();
  product.name = "product";
  product.memory = ops::allocates();
  product.samples = [] {
    return std::vector<Sample>{{.inputs = {{.shape = {3}}, {.shape = {3}}}}};
  };
  static constexpr ops::KernelSlot kKernel{.run = [](const Kernel& k) {
    for (std::int64_t i = 0; i < k.in[0].count(); ++i) {
      k.out[0].as<float>()[i] = k.in[0].as<const float>()[i] * k.in[1].as<const float>()[i];
    }
  }};
  product.kernels.set(cpu, kKernel);
  product.reference = [](const std::vector<ops::Reference>& in, const ops::Attributes&) {
    ops::Reference out = in[0];
    for (std::size_t i = 0; i < out.values.size(); ++i) out.values[i] *= in[1].values[i];
    return std::vector{out};
  };
  product.gradient = &modest;
  EXPECT_TRUE(passes(check_gradient, product));
  product.gradient = &greedy;
  EXPECT_ANY_THROW(passes(check_gradient, product));
}

/// What writes beside its memory is not called for anything else: it may end the process.
TEST(CustomOp, ThatWritesBesideItsMemoryIsCheckedForNothingElse) {
  OpRecord record = record_of<WritesPastItsOutput>();
  record.name = "writes_past";
  const OpReport report = check_op(define_op(record, ops::make_slot<WritesPastItsOutput>()));
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.checks, 2);
  EXPECT_NE(report.failures[0].find("bounds: "), std::string::npos) << report;
}

TEST(CustomOp, MayThrowAnything) {
  OpRecord record = record_of<Twice>();
  record.name = "throws_a_number";
  EXPECT_FALSE(check_op(define_op(record, {.run = [](const Kernel&) { throw 5; }})).ok());
}

TEST(CustomOp, MayBeElementwise) {
  static constexpr ops::ElementwiseRecord kElementwise{
      .arity = 1, .reference = [](const long double* x) { return x[0] * 3; }};
  static constexpr auto kLoops = [] {
    ops::ElementLoops loops{};
    loops[static_cast<std::size_t>(DType::float32)] = [](const void* const* in, void* out,
                                                         std::size_t n) {
      const auto* const x = static_cast<const float*>(in[0]);
      for (std::size_t i = 0; i < n; ++i) static_cast<float*>(out)[i] = x[i] * 3;
    };
    return loops;
  }();
  OpRecord record;
  record.name = "users_three_times";
  record.memory = ops::reuses(1);
  record.dtypes = 1u << static_cast<int>(DType::float32);
  record.elementwise = &kElementwise;
  record.samples = [] { return std::vector<Sample>{{.inputs = {{.shape = {3, 5}}}}}; };
  const OpReport report = check_op(define_op(record, {.loops = &kLoops}));
  EXPECT_TRUE(report.ok()) << report;
  record.name = "users_three_times_of_doubles";
  record.dtypes |= 1u << static_cast<int>(DType::float64);
  EXPECT_THROW(define_op(record, {.loops = &kLoops}), ValueError);
}

TEST(CustomOp, TooFewOperandsAreAnError) {
  OpRecord sum_of_two = record_of<Twice>();
  sum_of_two.name = "sum_of_two";
  sum_of_two.samples = [] {
    return std::vector<Sample>{{.inputs = {{.shape = {3}}, {.shape = {3}}}}};
  };
  sum_of_two.infer = [](const Kernel& k) { return Specs{{k.in[1].dtype, k.in[1].shape}}; };
  const ops::KernelSlot kernel{
      .run = [](const Kernel& k) { std::fill_n(k.out[0].as<float>(), k.in[1].count(), 1.0F); }};
  const CustomOp op = define_op(sum_of_two, kernel);
  const Tensor x = ones({3});
  EXPECT_EQ(op(x, x).to_vector<float>()[0], 1);
  EXPECT_THROW(op(x), ValueError);
  EXPECT_THROW(op.call({}), ValueError);
  sum_of_two.name = "without_samples";
  sum_of_two.samples = nullptr;
  EXPECT_THROW(define_op(sum_of_two, kernel), ValueError);
}

/// x times its sum, which it takes in as many parts as there are threads.
struct SumsByThreads : Twice {
  static constexpr auto memory = ops::allocates();
  static void run(const Kernel& k) {
    const auto* const in = k.in[0].as<const float>();
    const std::int64_t n = k.in[0].count();
    float sum = 0;
    for (int part = 0; part < num_threads(); ++part) {
      float own = 0;
      for (std::int64_t i = part; i < n; i += num_threads()) own += in[i];
      sum += own;
    }
    for (std::int64_t i = 0; i < n; ++i) k.out[0].as<float>()[i] = in[i] * sum;
  }
};

TEST(Harness, NoticesResultsThatDependOnThreads) {
  EXPECT_TRUE(passes(check_threads, record_of<Twice>()));
  const int before = num_threads();
  set_num_threads(2);
  const bool has_threads = num_threads() == 2;
  set_num_threads(before);
  EXPECT_EQ(passes(check_threads, record_of<SumsByThreads>()), !has_threads);
}

TEST(Harness, NoticesIncompleteRecords) {
  EXPECT_FALSE(passes(check_record, record_of<HasNoSamples>()));
  OpRecord no_reference = record_of<Twice>();
  no_reference.reference = nullptr;
  const ops::KernelSlot kernel = ops::make_slot<Twice>();
  no_reference.kernels.set(cpu, kernel);
  EXPECT_FALSE(passes(check_record, no_reference));
  const OpRecord no_kernel = record_of<Twice>();
  EXPECT_FALSE(passes(check_record, no_kernel));
}

TEST(Harness, NoticesTypesThatAreTakenButNotComputed) {
  EXPECT_FALSE(passes(check_numerics, record_of<TakesMore>()));
}

}  // namespace
}  // namespace tenure::check
