#include "bench/contest.h"
#include "bench/peer_torch.h"
#include "tenure/tenure.h"

// Calls that compute next to nothing: what remains is what a call itself costs.

namespace tenure::bench {
namespace {

constexpr double kTarget = 8;

Entrant torch(const char* call, const std::vector<std::vector<std::int64_t>>& shapes,
              std::optional<double> target) {
  return {.name = "libtorch", .work = torch_call(call, shapes), .target = target};
}

/// Adds a case that makes its inputs when it runs.
template <class Make>
void add(std::vector<Case>& cases, const std::string& name, const char* torch_name,
         const std::vector<std::vector<std::int64_t>>& shapes, std::optional<double> target,
         Make make) {
  cases.push_back({"tiny", name, [=](const Options& options) {
                     return run({.name = name,
                                 .unit = kNanoseconds,
                                 .ours = make(),
                                 .peers = {torch(torch_name, shapes, target)}},
                                options);
                   }});
}

}  // namespace

void add_tiny_cases(std::vector<Case>& cases) {
  add(cases, "add of 16 floats", "add", {{16}, {16}}, kTarget,
      [] { return repeat([a = normal({16}), b = normal({16})] { use(tenure::add(a, b)); }); });
  add(cases, "relu of 16 floats", "relu", {{16}}, kTarget,
      [] { return repeat([x = normal({16})] { use(relu(x)); }); });
  add(cases, "tanh of 16 floats", "tanh", {{16}}, kTarget,
      [] { return repeat([x = normal({16})] { use(tanh(x)); }); });
  add(cases, "matmul 8x8", "matmul", {{8, 8}, {8, 8}}, kTarget, [] {
    return repeat([a = normal({8, 8}), b = normal({8, 8})] { use(matmul(a, b)); });
  });
  add(cases, "empty of 4 KiB, and free", "empty", {}, kTarget,
      [] { return repeat([] { use(empty({1024})); }); });
  add(cases, "add [8,8] + [8]", "add", {{8, 8}, {8}}, std::nullopt, [] {
    return repeat([a = normal({8, 8}), b = normal({8})] { use(tenure::add(a, b)); });
  });
  add(cases, "add a number to 16 floats", "add_scalar", {{16}}, std::nullopt,
      [] { return repeat([x = normal({16})] { use(tenure::add(x, 2.0)); }); });
  add(cases, "sum of 16 floats", "sum", {{16}}, std::nullopt,
      [] { return repeat([x = normal({16})] { use(sum(x)); }); });
  add(cases, "reshape [16] to [4,4]", "reshape", {{16}}, std::nullopt, [] {
    return repeat([x = normal({16})] { use(reshape(x, {4, 4})); });
  });
  add(cases, "chain of 10 adds, 16 floats", "chain_of_10", {{16}}, std::nullopt, [] {
    return repeat([x = normal({16})] {
      Tensor y = tenure::add(x, x);
      for (int i = 1; i < 10; ++i) y = tenure::add(y, x);
      use(y);
    });
  });
}

}  // namespace tenure::bench
