#include "tests/support/update_op.h"

#include <array>

#include "tests/support/record_of.h"

namespace tenure::test {
namespace {

using namespace ops;

struct MomentumUpdate {
  static constexpr auto family = "test";
  static constexpr auto name = "momentum_update";
  static constexpr auto signature = "momentum_update(p, m, g) -> p', m'";
  static constexpr auto doc = "m' = m / 2 + g and p' = p - m'.";
  static constexpr auto memory = reuses(0b11);
  static constexpr auto types = 1u << static_cast<int>(DType::float32);
  static constexpr int outputs = 2;
  static constexpr double ulp = 2;

  static Specs infer(const Kernel& k) {
    return {{k.in[0].dtype, k.in[0].shape}, {k.in[0].dtype, k.in[0].shape}};
  }
  static void run(const Kernel& k) {
    const std::int64_t n = k.out[0].count();
    const auto element = [](const View& view, std::int64_t i) {
      std::int64_t at = 0;
      for (int d = view.shape.size(); d-- > 0; i /= view.shape[d]) {
        at += i % view.shape[d] * view.strides[d];
      }
      return view.as<const float>()[at];
    };
    for (std::int64_t i = 0; i < n; ++i) {
      const float m = element(k.in[1], i) * 0.5f + element(k.in[2], i);
      const float p = element(k.in[0], i) - m;
      k.out[0].as<float>()[i] = p;
      k.out[1].as<float>()[i] = m;
    }
  }
  static std::vector<Sample> samples() {
    const Sample::Input far{.shape = {3, 5}, .low = 10, .high = 20};  // nothing cancels
    const Sample::Input near{.shape = {3, 5}, .low = 0, .high = 1};
    return {{.inputs = {far, near, near}}, {.inputs = {{{0}}, {{0}}, {{0}}}}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    std::vector<Reference> out{in[0], in[1]};
    for (std::size_t i = 0; i < in[0].values.size(); ++i) {
      out[1].values[i] = in[1].values[i] / 2 + in[2].values[i];
      out[0].values[i] = in[0].values[i] - out[1].values[i];
    }
    return out;
  }
};

}  // namespace

const OpRecord& momentum_record() { return record_of<MomentumUpdate>(); }

std::pair<Tensor, Tensor> momentum_update(const Tensor& p, const Tensor& m, const Tensor& g) {
  const std::array<Operand, 3> operands{p, m, g};
  std::vector<Tensor> results =
      run_many_now(momentum_record(), operands, kNoAttributes, Site::current());
  return {std::move(results[0]), std::move(results[1])};
}

}  // namespace tenure::test
