#include "bench/contest.h"
#include "bench/floors.h"
#include "bench/peer_torch.h"
#include "tenure/tenure.h"

namespace tenure::bench {
namespace {

template <class Make>
void add(std::vector<Case>& cases, const std::string& name, const char* torch_name,
         const std::vector<std::int64_t>& shape, const Unit& unit, Make make) {
  cases.push_back({"reduce", name, [=](const Options& options) {
                     return run({.name = name,
                                 .unit = unit,
                                 .ours = make(),
                                 .peers = {{"libtorch", torch_call(torch_name, {shape})}}},
                                options);
                   }});
}

}  // namespace

void add_reduce_cases(std::vector<Case>& cases) {
  constexpr std::int64_t kLarge = 16 << 20;
  cases.push_back({"reduce", "sum of 16M floats", [](const Options& options) {
                     return run(
                         {.name = "sum of 16M floats",
                          .unit = kBandwidth,
                          .amount = 4.0 * kLarge,
                          .ours = repeat([x = normal({kLarge})] { use(sum(x)); }),
                          .peers = {{"libtorch", torch_call("sum", {{kLarge}})}, copy_bandwidth()}},
                         options);
                   }});
  add(cases, "softmax of [1024,1024]", "softmax", {1024, 1024}, kMicroseconds, [] {
    return repeat([x = normal({1024, 1024})] { use(softmax(x)); });
  });
  add(cases, "cumsum of 1M floats", "cumsum", {1 << 20}, kMicroseconds,
      [] { return repeat([x = normal({1 << 20})] { use(cumsum(x, 0)); }); });
  add(cases, "sort of 1M floats", "sort", {1 << 20}, kMilliseconds,
      [] { return repeat([x = normal({1 << 20})] { use(sort(x)); }); });
}

}  // namespace tenure::bench
