#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tenure/check/compare.h"
#include "tenure/kernels/cpu/elementwise/stream.h"
#include "tenure/kernels/cpu/table.h"

// Bodies of elementwise ops that write past the CPU's caches.

namespace tenure::check {
namespace {

struct alignas(64) Line {
  std::byte bytes[64];
  bool operator==(const Line&) const = default;
};

class EveryStreamingOp : public testing::TestWithParam<const ops::OpRecord*> {};

TEST_P(EveryStreamingOp, WritesTheSameBitsPastTheCaches) {
  for (const Case& c : cases_of(*GetParam())) {
    const kernels::Body body = kernels::cpu_body(*GetParam(), c.inputs.back().dtype);
    const Shape& shape = c.inputs[0].shape;
    const bool plain = std::all_of(c.inputs.begin(), c.inputs.end(),
                                   [&](const Input& input) { return input.shape == shape; });
    if (body.streamed == nullptr || !plain) continue;
    const std::vector<Tensor> inputs = make_all(c);
    std::vector<const void*> in;
    for (const Tensor& input : inputs) {
      in.push_back(Pin(input.body("data"), "data", Site::current()).data());
    }
    const auto n = static_cast<std::size_t>(count(shape));
    std::vector<Line> stored(n / 8 + 1);
    std::vector<Line> streamed(n / 8 + 1);
    body.loop(in.data(), stored.data(), n);
    body.streamed(in.data(), streamed.data(), n);
    kernels::stream_fence();
    EXPECT_TRUE(streamed == stored) << describe(c);
  }
}

std::vector<const ops::OpRecord*> elementwise_ops() {
  std::vector<const ops::OpRecord*> list = ops::all_ops();
  std::erase_if(list, [](const ops::OpRecord* op) { return op->elementwise == nullptr; });
  return list;
}

INSTANTIATE_TEST_SUITE_P(Ops, EveryStreamingOp, testing::ValuesIn(elementwise_ops()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace tenure::check
