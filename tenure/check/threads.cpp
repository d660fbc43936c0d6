#include "tenure/check/checks.h"
#include "tenure/check/compare.h"
#include "tenure/check/expect-inl.h"
#include "tenure/kernels/parallel.h"
#include "tenure/memory/budget.h"
#include "tenure/ops/index_ops.h"

namespace tenure::check {
namespace {

using ops::OpRecord;

/// So many elements are work for several threads.
constexpr std::int64_t kMuch = 1 << 17;
constexpr std::size_t kRoom = std::size_t{64} << 20;
constexpr int kThreads[] = {2, 3, 8};

/// Restores the number of threads.
class Threads {
 public:
  Threads() : before_(num_threads()) {}
  ~Threads() { set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

/// The inputs, those repeated along an axis that are as long there as the first one is: along the
/// first axis or the last. Whether the op takes them is to be seen.
std::vector<Tensor> longer(const Case& c, bool last) {
  const auto axis_of = [last](const Shape& shape) { return last ? shape.size() - 1 : 0; };
  const Shape& first = c.inputs[0].shape;
  const std::int64_t length = first[axis_of(first)];
  const std::int64_t times = std::max<std::int64_t>(1, kMuch / count(first));
  std::vector<Tensor> tensors = make_all(c);
  for (Tensor& tensor : tensors) {
    const Shape& shape = tensor.shape();
    if (shape.empty() || shape[axis_of(shape)] != length) continue;
    Dims along = Dims::filled(shape.size(), 1);
    along[axis_of(shape)] = times;
    tensor = tile(tensor, along);
  }
  return tensors;
}

/// What one thread computes, or nothing where the op refuses such inputs.
std::vector<Tensor> try_run(const Case& c, const std::vector<Tensor>& inputs) {
  set_num_threads(1);
  try {
    const Budget room("longer inputs", kRoom);  // some results grow with the square
    return run(c, inputs);
  } catch (const Error&) {
    return {};
  }
}

void expect_equal_on_threads(const Case& c, const std::vector<Tensor>& inputs) {
  const std::vector<Tensor> expected = try_run(c, inputs);
  if (expected.empty()) return;
  for (const int threads : kThreads) {
    set_num_threads(threads);
    CHECK_TRUE(equals(run(c, inputs), expected))
        << describe(c) << ", first input now " << to_string(inputs[0].shape()) << ", on " << threads
        << " threads";
  }
}

}  // namespace

void check_threads(const OpRecord& op) {
  constexpr int kFew = 4;  // samples, each in two ways: they are long
  const Threads restored;
  int checked = 0;
  for (const Case& c : cases_of(op)) {
    if (c.inputs.empty() || count(c.inputs[0].shape) == 0 || c.inputs[0].shape.empty()) continue;
    // Rounding is what could differ, and this is what kernels round to; float64 has the same ones.
    if (op.takes(DType::float32) && c.inputs[0].dtype != DType::float32) continue;
    if (++checked > kFew) break;
    for (const bool last : {false, true}) expect_equal_on_threads(c, longer(c, last));
  }
}

}  // namespace tenure::check
