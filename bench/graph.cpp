#include <fmt/format.h>

#include <chrono>

#include "bench/contest.h"
#include "bench/floors.h"
#include "bench/peer_torch.h"
#include "tenure/tenure.h"

// Traced functions and sessions: fused loops, what a call costs, what compiling costs, and whether
// anything grows.

namespace tenure::bench {
namespace {

constexpr std::int64_t kLarge = 16 << 20;

Tensor gate(const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d) {
  return tanh(a * b + c) * sigmoid(d);
}

std::vector<Figure> fused(const Options& options) {
  const auto f = function(gate);
  const Tensor a = normal({kLarge});
  const Tensor b = normal({kLarge});
  const Tensor c = normal({kLarge});
  const Tensor d = normal({kLarge});
  Entrant copy = copy_bandwidth();
  copy.target = 0.8;
  std::vector<Figure> figures = run(
      {.name = "tanh(a*b+c)*sigmoid(d), 16M floats",
       .unit = kBandwidth,
       .amount = 20.0 * kLarge,
       .ours = repeat([&] { use(f(a, b, c, d)); }),
       .peers = {copy,
                 {"libtorch", torch_call("gate", {{kLarge}, {kLarge}, {kLarge}, {kLarge}}), 0, 8},
                 {"Tenure, eager", repeat([&] { use(gate(a, b, c, d)); })}}},
      options);
  const MemoryRegion region;
  use(f(a, b, c, d));
  figures.push_back(at_most("its peak beyond the inputs", "bytes",
                            static_cast<double>(region.peak_bytes()), 4.0 * kLarge, "one output"));
  return figures;
}

Tensor mean_square(const Tensor& a, const Tensor& b) { return mean((a - b) * (a - b)); }

std::vector<Figure> fused_reduction(const Options& options) {
  const auto f = function(mean_square);
  const Tensor a = normal({kLarge});
  const Tensor b = normal({kLarge});
  std::vector<Figure> figures =
      run({.name = "mean((a-b)*(a-b)), 16M floats",
           .unit = kBandwidth,
           .amount = 8.0 * kLarge,
           .ours = repeat([&] { use(f(a, b)); }),
           .peers = {copy_bandwidth(),
                     {"libtorch", torch_call("mean_square", {{kLarge}, {kLarge}})},
                     {"Tenure, eager", repeat([&] { use(mean_square(a, b)); })}}},
          options);
  const MemoryRegion region;
  use(f(a, b));
  figures.push_back(at_most("its peak beyond the inputs", "bytes",
                            static_cast<double>(region.peak_bytes()), 4, "the mean"));
  return figures;
}

std::vector<Figure> layouts(const Options& options) {
  const auto block = [](const ConvOptions& how) {
    return [how](const Tensor& x, const Tensor& a, const Tensor& b) {
      return conv2d(tanh(conv2d(x, a, how)), b, how);
    };
  };
  const auto first = block({.channels = Channels::first});
  const auto f = function(first);
  const auto last = function(block({}));
  const Tensor x = normal({16, 32, 30, 30});
  const Tensor a = normal({32, 32, 3, 3});
  const Tensor x_last = contiguous(permute(x, {0, 2, 3, 1}));
  const Tensor a_last = contiguous(permute(a, {2, 3, 1, 0}));
  return run({.name = "conv, tanh, conv with channels first",
              .unit = kMicroseconds,
              .ours = repeat([&] { use(f(x, a, a)); }),
              .peers = {{"with channels last", repeat([&] { use(last(x_last, a_last, a_last)); })},
                        {"Tenure, eager", repeat([&] { use(first(x, a, a)); })}}},
             options);
}

std::vector<Figure> call_cost(const Options& options) {
  const Tensor x = normal({16});
  const auto f = function([](const Tensor& t) { return relu(t); });
  const std::vector<double> seconds =
      median_seconds({repeat([&] { use(relu(x)); }), repeat([&] { use(f(x)); })}, options.rounds);
  return {at_most("a function of one op, over the op", "ns", (seconds[1] - seconds[0]) * 1e9, 150,
                  fmt::format("{:.0f} and {:.0f} ns", seconds[1] * 1e9, seconds[0] * 1e9))};
}

Tensor small_chain(Tensor y, const Tensor& x) {
  for (int i = 0; i < 25; ++i) y = maximum(abs(y * x + 1), x);
  return y;
}

std::vector<Figure> small_graph(const Options& options) {
  const Tensor x = normal({16});
  const auto f = function([](const Tensor& t) { return small_chain(t, t); });
  return run({.name = "100 ops on 16 floats, as a function",
              .unit = kMicroseconds,
              .ours = repeat([&] { use(f(x)); }),
              .peers = {{"Tenure, eager", repeat([&] { use(small_chain(x, x)); }), 0, 3}}},
             options);
}

std::vector<Figure> compile_cost(const Options&) {
  std::vector<Figure> figures;
  for (const int nodes : {1'000, 10'000, 100'000}) {
    const auto begin = std::chrono::steady_clock::now();
    const auto f = function([nodes](const Tensor& x) {
      Tensor y = x;
      for (int i = 0; i < nodes / 2; ++i) y = tanh(matmul(y, x));
      return y;
    });
    const Plan plan = f.plan(spec({8, 8}));
    const std::chrono::duration<double, std::milli> passed =
        std::chrono::steady_clock::now() - begin;
    const std::string name = fmt::format("trace and compile {} nodes", nodes);
    if (nodes == 10'000) {
      figures.push_back(at_most(name, "ms", passed.count(), 1000, ""));
    } else {
      figures.push_back({.name = name, .unit = "ms", .value = passed.count()});
    }
    use(plan);
  }
  return figures;
}

std::vector<Figure> growth(const Options& options) {
  const std::int64_t runs = std::min<std::int64_t>(options.iterations, 1'000'000);
  Graph graph("g");
  const Tensor x = graph.placeholder("x", float32, {8});
  const Tensor y = softmax(tanh(x) * 2 + 1);
  Session session(graph);
  const auto f = function([](const Tensor& a) { return softmax(tanh(a) * 2 + 1); });
  const Tensor value = normal({8});
  const std::vector<Feed> feeds{{x, value}};
  const auto both = [&] {
    use(session.run(y, feeds));
    use(f(value));
  };
  for (int i = 0; i < 1000; ++i) both();
  const MemoryStats before = memory();
  for (std::int64_t i = 0; i < runs; ++i) both();
  const MemoryStats after = memory();
  return {at_most(
      "growth over session runs and function calls", "bytes",
      static_cast<double>(after.bytes - before.bytes + after.metadata_bytes -
                          before.metadata_bytes + after.reserved_bytes - before.reserved_bytes),
      0, fmt::format("{} of each", runs))};
}

}  // namespace

void add_graph_cases(std::vector<Case>& cases) {
  cases.push_back({"graph", "fused loop", fused});
  cases.push_back({"graph", "fused reduction", fused_reduction});
  cases.push_back({"graph", "layouts", layouts});
  cases.push_back({"graph", "function call", call_cost});
  cases.push_back({"graph", "small graph", small_graph});
  cases.push_back({"graph", "compile", compile_cost});
  cases.push_back({"graph", "growth", growth});
}

}  // namespace tenure::bench
