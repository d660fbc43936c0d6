#include <fmt/format.h>

#include "bench/contest.h"
#include "bench/floors.h"
#include "bench/peer_torch.h"
#include "tenure/ops/core/record.h"
#include "tenure/tenure.h"

// Large tensors: bound by the memory, or by the arithmetic of one function.

namespace tenure::bench {
namespace {

constexpr std::int64_t kLarge = 16 << 20;
constexpr double kLargeBytes = 4.0 * kLarge;

Entrant floor_of(double target) {
  Entrant copy = copy_bandwidth();
  copy.target = target;
  return copy;
}

/// An op that moves `bytes` and hardly computes, held against the copy.
template <class Make>
void add_moving(std::vector<Case>& cases, const std::string& name, const std::string& torch_name,
                const std::vector<std::vector<std::int64_t>>& shapes, double bytes, double target,
                Make make) {
  cases.push_back(
      {"elementwise", name, [=](const Options& options) {
         return run({.name = name,
                     .unit = kBandwidth,
                     .amount = bytes,
                     .ours = make(),
                     .peers = {floor_of(target), {"libtorch", torch_call(torch_name, shapes)}}},
                    options);
       }});
}

void add_function(std::vector<Case>& cases, const std::string& op,
                  Tensor (*function)(const Operand&)) {
  const std::string name = op + " of 16M floats";
  cases.push_back({"elementwise", name, [=](const Options& options) {
                     const double ulp = ops::find_op(op)->tolerance_ulp;
                     return run(
                         {.name = name,
                          .unit = kMilliseconds,
                          .ours = repeat([x = normal({kLarge}), function] { use(function(x)); }),
                          .peers = {{"libtorch", torch_call(op, {{kLarge}}), 0, 1.5},
                                    {"libtorch, out=", torch_call(op + "/out", {{kLarge}})}},
                          .note = fmt::format("within {:g} ulp", ulp)},
                         options);
                   }});
}

}  // namespace

void add_elementwise_cases(std::vector<Case>& cases) {
  add_moving(cases, "relu of 16M floats", "relu", {{kLarge}}, 2 * kLargeBytes, 0.9,
             [] { return repeat([x = normal({kLarge})] { use(relu(x)); }); });
  add_moving(cases, "add of 16M floats", "add", {{kLarge}, {kLarge}}, 3 * kLargeBytes, 0.9, [] {
    return repeat([a = normal({kLarge}), b = normal({kLarge})] { use(add(a, b)); });
  });
  add_moving(cases, "clone of 16M floats", "clone", {{kLarge}}, 2 * kLargeBytes, 0.9,
             [] { return repeat([x = normal({kLarge})] { use(clone(x)); }); });
  add_moving(cases, "mul of 16M floats by a number", "mul_scalar", {{kLarge}}, 2 * kLargeBytes, 0.9,
             [] { return repeat([x = normal({kLarge})] { use(mul(x, 2.0)); }); });
  add_moving(cases, "clone of 4096x4096 transposed", "clone_transposed", {{4096, 4096}},
             2 * kLargeBytes, 0.5, [] {
               return repeat([x = transpose(normal({4096, 4096}))] { use(clone(x)); });
             });
  add_moving(cases, "full of 16M floats", "full", {{kLarge}}, kLargeBytes, 0.5,
             [] { return repeat([] { use(full({kLarge}, 3.0)); }); });
  add_function(cases, "tanh", tanh);
  add_function(cases, "exp", exp);
  add_function(cases, "sigmoid", sigmoid);
  add_function(cases, "gelu", gelu);
}

}  // namespace tenure::bench
