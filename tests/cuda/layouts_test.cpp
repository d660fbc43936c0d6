#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/cuda/emulated.h"
#include "tests/cuda/layouts.h"

// Kernels that read 16 bytes at once, or by tiles, where layouts allow it: any op of operands that
// lie anywhere comes out as the CPU has it in float64, and so do its gradients.

namespace tenure {
namespace {

using test::Draws;
using test::emulated_gpu;
using test::Look;
using test::some_look;

/// An operand with a layout.
struct Laid {
  Tensor whole{};
  Look look{};

  Tensor on(Device device, bool widens) const {
    const bool is_float = is_floating(whole.dtype());
    const Tensor there = copy_to(widens && is_float ? cast(whole, float64) : whole, device);
    return look.order.empty() ? there : look(there);
  }
};

/// An op of operands, and its gradients by the first `differentiable` of them.
struct Call {
  std::string what{};
  std::vector<Laid> operands{};
  int differentiable = 0;
  std::function<Tensor(const std::vector<Tensor>&)> op{};

  std::vector<Tensor> results(Device device, bool widens) const {
    std::vector<Tensor> x;
    for (const Laid& operand : operands) x.push_back(operand.on(device, widens));
    GradientTape tape;
    for (int i = 0; i < differentiable; ++i) tape.watch(x[static_cast<std::size_t>(i)]);
    const Tensor y = op(x);
    std::vector<Tensor> all{y};
    if (differentiable == 0) return all;
    // What is multiplied by is the same everywhere, and of no one sign.
    const Tensor by =
        reshape(cast(arange(count(y.shape())) % 7 - 3, y.dtype()), y.shape()).to(device);
    const Tensor sum = tenure::sum(y * by);
    const std::vector<Tensor> of(x.begin(), x.begin() + differentiable);
    for (Tensor& gradient : tape.gradient(sum, of)) all.push_back(std::move(gradient));
    return all;
  }
};

class Drawn {
 public:
  explicit Drawn(std::uint32_t seed) : draws(seed), generator_(seed) {}

  DType type() {
    constexpr DType kTypes[] = {DType::bfloat16, DType::float16, DType::float32, DType::float32,
                                DType::float64};
    return draws.one_of(kTypes);
  }
  Laid laid(Tensor (*make)(const Shape&, Generator*), const Shape& shape, DType type) {
    Laid made;
    if (draws.below(3) != 0) made.look = some_look(draws, shape);
    made.whole = cast(make(made.look.order.empty() ? shape : made.look.whole, &generator_), type);
    return made;
  }
  Laid normals(const Shape& shape, DType type) {
    return laid([](const Shape& s, Generator* g) { return normal(s, 0, 1, float32, g); }, shape,
                type);
  }
  /// From either end of an axis of such a size.
  Laid indices(const Shape& shape, std::int64_t below) {
    const Tensor all = randint(-below, below, shape, draws.coin() ? int64 : int32, &generator_);
    return {.whole = all};
  }
  std::int64_t size(std::int64_t most) { return 1 + draws.below(most); }
  std::int64_t channels() {
    constexpr std::int64_t kSizes[] = {1, 3, 4, 8, 16, 20, 24, 33, 64};
    return draws.one_of(kSizes);
  }

  Draws draws;

 private:
  Generator generator_;
};

void expect_as_on_the_cpu(const Call& call, DType type) {
  const double tolerance = type == DType::bfloat16  ? 0.03
                           : type == DType::float16 ? 4e-3
                           : type == DType::float32 ? 1e-5
                                                    : 1e-12;
  const std::vector<Tensor> got = call.results(emulated_gpu(), false);
  const std::vector<Tensor> expected = call.results(cpu, true);
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].shape(), expected[i].shape()) << call.what;
    const std::vector<double> a = cast(copy_to(got[i], cpu), float64).to_vector<double>();
    const std::vector<double> b = cast(expected[i], float64).to_vector<double>();
    double largest = 1;
    for (const double x : b) largest = std::max(largest, std::abs(x));
    for (std::size_t j = 0; j < a.size(); ++j) {
      ASSERT_NEAR(a[j], b[j], tolerance * largest)
          << call.what << " of " << name_of(type) << ", result " << i << ", element " << j;
    }
  }
}

TEST(GpuLayouts, OfAttention) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Drawn drawn(seed);
    Draws& draws = drawn.draws;
    const DType type = drawn.type();
    const std::int64_t heads = drawn.size(3), n = drawn.size(90), m = drawn.size(90);
    const std::int64_t d = draws.coin() ? 8 * drawn.size(16) : drawn.size(70);
    const std::int64_t e = draws.coin() ? d : drawn.size(70);
    const AttentionOptions options{.causal = draws.coin()};
    const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
      return drawn.normals({2, heads, rows, columns}, type);
    };
    Call call{.what = fmt::format("attention {} {} {} {} {}", heads, n, m, d, e),
              .operands = {matrix(n, d), matrix(m, d), matrix(m, e)},
              .differentiable = 3};
    if (draws.coin()) {
      call.operands.push_back(drawn.normals({draws.coin() ? heads : 1, n, m}, type));
      if (draws.coin()) call.operands.back().whole = call.operands.back().whole > -0.5;
    }
    call.op = [=](const std::vector<Tensor>& x) {
      return x.size() > 3 ? attention(x[0], x[1], x[2], x[3], options)
                          : attention(x[0], x[1], x[2], options);
    };
    expect_as_on_the_cpu(call, type);
  }
}

TEST(GpuLayouts, OfNorms) {
  for (std::uint32_t seed = 100; seed < 140; ++seed) {
    SCOPED_TRACE(seed);
    Drawn drawn(seed);
    const DType type = drawn.type();
    const std::int64_t columns = drawn.channels() * (drawn.draws.coin() ? 1 : 40);
    const Shape shape{drawn.size(5), drawn.size(30), std::max<std::int64_t>(columns, 3)};
    const Laid x = drawn.normals(shape, type);
    const Laid weight = drawn.normals({shape[2]}, type);
    const Laid bias = drawn.normals({shape[2]}, type);
    const std::string what = to_string(shape);
    const bool is_batch = shape[0] * shape[1] > 2;
    expect_as_on_the_cpu({"layer_norm " + what,
                          {x, weight, bias},
                          3,
                          [](const auto& t) { return layer_norm(t[0], t[1], t[2]); }},
                         type);
    expect_as_on_the_cpu(
        {"rms_norm " + what, {x, weight}, 2, [](const auto& t) { return rms_norm(t[0], t[1]); }},
        type);
    if (is_batch) {
      expect_as_on_the_cpu({"batch_norm " + what,
                            {x, weight, bias},
                            3,
                            [](const auto& t) { return batch_norm(t[0], t[1], t[2]).y; }},
                           type);
    }
    const int axis = static_cast<int>(drawn.draws.below(3));
    expect_as_on_the_cpu(
        {"softmax " + what, {x}, 1, [=](const auto& t) { return softmax(t[0], axis); }}, type);
    expect_as_on_the_cpu(
        {"log_softmax " + what, {x}, 1, [=](const auto& t) { return log_softmax(t[0], axis); }},
        type);
    expect_as_on_the_cpu(
        {"var " + what, {x}, 0, [=](const auto& t) { return var(t[0], {axis}, false, 0); }}, type);
    expect_as_on_the_cpu(
        {"logsumexp " + what, {x}, 0, [=](const auto& t) { return logsumexp(t[0], {axis}); }},
        type);
  }
}

TEST(GpuLayouts, OfPooling) {
  for (std::uint32_t seed = 200; seed < 280; ++seed) {
    SCOPED_TRACE(seed);
    Drawn drawn(seed);
    Draws& draws = drawn.draws;
    const DType type = drawn.type();
    const Shape shape{drawn.size(3), 5 + drawn.size(9), 5 + drawn.size(9), drawn.channels()};
    const std::int64_t kernel = drawn.size(3);
    const PoolOptions options{.stride = drawn.size(3),
                              .padding = draws.coin() ? 0 : kernel / 2,
                              .dilation = kernel > 1 && draws.below(3) == 0 ? 2 : 1,
                              .ceil_mode = draws.coin()};
    const Laid x = drawn.normals(shape, type);
    expect_as_on_the_cpu({fmt::format("max_pool {} of {}", kernel, to_string(shape)),
                          {x},
                          1,
                          [=](const auto& t) { return max_pool2d(t[0], kernel, options); }},
                         type);
    const PoolOptions counting{.stride = options.stride,
                               .padding = options.padding,
                               .count_padding = draws.coin(),
                               .ceil_mode = options.ceil_mode};
    expect_as_on_the_cpu({fmt::format("avg_pool {} of {}", kernel, to_string(shape)),
                          {x},
                          1,
                          [=](const auto& t) { return avg_pool2d(t[0], kernel, counting); }},
                         type);
    const std::int64_t sizes = drawn.size(6);
    expect_as_on_the_cpu({fmt::format("adaptive_max_pool {} of {}", sizes, to_string(shape)),
                          {x},
                          1,
                          [=](const auto& t) { return adaptive_max_pool2d(t[0], sizes); }},
                         type);
  }
}

TEST(GpuLayouts, OfIndexing) {
  for (std::uint32_t seed = 300; seed < 340; ++seed) {
    SCOPED_TRACE(seed);
    Drawn drawn(seed);
    Draws& draws = drawn.draws;
    const DType type = drawn.type();
    const Shape shape{drawn.size(9), drawn.size(40), drawn.channels()};
    const Laid x = drawn.normals(shape, type);
    const std::string what = to_string(shape);
    const int axis = static_cast<int>(draws.below(3));
    const Laid chosen = drawn.indices({drawn.size(4), drawn.size(60)}, shape[axis]);
    expect_as_on_the_cpu(
        {"take " + what, {x, chosen}, 1, [=](const auto& t) { return take(t[0], t[1], axis); }},
        type);
    const std::int64_t n = drawn.size(draws.below(10) == 0 ? 9000 : 90);
    const Laid rows = drawn.indices({n}, shape[0]);
    const Laid values = drawn.normals({n, shape[1], shape[2]}, type);
    if (n * shape[1] * shape[2] < 40000) {
      expect_as_on_the_cpu({"index_add " + what,
                            {x, values, rows},
                            2,
                            [](const auto& t) { return index_add(t[0], {t[2]}, t[1]); }},
                           type);
      expect_as_on_the_cpu({"index_update " + what,
                            {x, values, rows},
                            0,
                            [](const auto& t) { return index_update(t[0], {t[2]}, t[1]); }},
                           type);
    }
    const Laid columns = drawn.indices({n}, shape[1]);
    const Laid fewer = drawn.normals({n, shape[2]}, type);
    expect_as_on_the_cpu({"index_add by two " + what,
                          {x, fewer, rows, columns},
                          2,
                          [](const auto& t) {
                            return index_add(t[0], {t[2], t[3]}, t[1]);
                          }},
                         type);
    Shape longer = shape;
    longer[axis] = drawn.size(50);
    const Laid places = drawn.indices(longer, shape[axis]);
    const Laid updates = drawn.normals(longer, type);
    expect_as_on_the_cpu(
        {"scatter " + what,
         {x, updates, places},
         0,
         [=](const auto& t) { return scatter(t[0], axis, t[2], t[1], ScatterMode::add); }},
        type);
    expect_as_on_the_cpu(
        {"gather " + what, {x, places}, 1, [=](const auto& t) { return gather(t[0], axis, t[1]); }},
        type);
  }
}

}  // namespace
}  // namespace tenure
