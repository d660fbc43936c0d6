#include "bench/contest.h"
#include "bench/floors.h"
#include "bench/peer_torch.h"
#include "tenure/ops/core/dispatch.h"
#include "tenure/tenure.h"

// Losses, attention and recurrent layers, in the sizes of a small transformer.

namespace tenure::bench {
namespace {

constexpr std::int64_t kBatch = 8, kHeads = 4, kLength = 128, kDepth = 64;

/// Calls a record that has no function of its own: a gradient.
Work call_gradient(const char* name, std::vector<Tensor> inputs, const ops::Attributes& a) {
  return repeat([op = ops::find_op(name), inputs = std::move(inputs), a] {
    const std::vector<Operand> operands(inputs.begin(), inputs.end());
    use(ops::run_many_now(*op, operands, a, Site::current()));
  });
}

struct Computation {
  const char* name;
  double flops;
  const char* peer;
  std::vector<std::vector<std::int64_t>> shapes;
  Work (*make)();
};

void add_computation(std::vector<Case>& cases, const Computation& c) {
  cases.push_back({"nn_more", c.name, [=](const Options& options) {
                     return run({.name = c.name,
                                 .unit = kFlops,
                                 .amount = c.flops,
                                 .ours = c.make(),
                                 .peers = {{"libtorch", torch_call(c.peer, c.shapes)},
                                           fma_peak(options.threads)}},
                                options);
                   }});
}

void add_loss(std::vector<Case>& cases, const char* name, const char* peer, Work (*make)()) {
  const std::vector<std::vector<std::int64_t>> shapes{{kBatch * kLength, 96}};
  cases.push_back({"nn_more", name, [=](const Options& options) {
                     return run({.name = name,
                                 .unit = kMicroseconds,
                                 .ours = make(),
                                 .peers = {{"libtorch", torch_call(peer, shapes)}}},
                                options);
                   }});
}

Tensor heads() { return normal({kBatch, kHeads, kLength, kDepth}); }

}  // namespace

void add_nn_more_cases(std::vector<Case>& cases) {
  add_loss(cases, "cross_entropy of [1024,96]", "cross_entropy", [] {
    return repeat([x = normal({kBatch * kLength, 96}),
                   t = zeros({kBatch * kLength}, DType::int64)] { use(cross_entropy(x, t)); });
  });
  add_loss(cases, "cross_entropy of [1024,96], gradient", "cross_entropy_gradient", [] {
    return call_gradient(
        "cross_entropy_gradient",
        {normal({kBatch * kLength, 96}), zeros({kBatch * kLength}, DType::int64), ones({})},
        ops::Attributes(0.0, std::int64_t{-100}, std::int64_t{0}));
  });
  const std::vector<std::int64_t> shape{kBatch, kHeads, kLength, kDepth};
  // Of both sides, all pairs count: libtorch computes those that are masked too.
  const double pair = 2.0 * kBatch * kHeads * kLength * kLength * kDepth;
  add_computation(
      cases, {"attention [8,4,128,64]", 2 * pair, "attention", {shape, shape, shape}, [] {
                return repeat([q = heads(), k = heads(), v = heads()] { use(attention(q, k, v)); });
              }});
  add_computation(
      cases,
      {"attention [8,4,128,64], causal", 2 * pair, "attention/causal", {shape, shape, shape}, [] {
         return repeat([q = heads(), k = heads(), v = heads()] {
           use(attention(q, k, v, {.causal = true}));
         });
       }});
  add_computation(cases, {"attention [8,4,128,64], gradient",
                          5 * pair,
                          "attention_gradient",
                          {shape, shape, shape, shape},
                          [] {
                            return call_gradient("attention_gradient",
                                                 {heads(), heads(), heads(), heads()},
                                                 ops::Attributes(false, false, 0.0));
                          }});
  const double step = 2.0 * 32 * 4 * 128 * (128 + 128);
  add_computation(cases, {"lstm, 32 sequences of 50, 128 units",
                          50 * step,
                          "lstm",
                          {{32, 50, 128}, {512, 128}, {512, 128}, {512}},
                          [] {
                            return repeat([x = normal({32, 50, 128}), w = normal({128, 512}),
                                           u = normal({128, 512}),
                                           b = normal({512})] { use(lstm(x, w, u, b)); });
                          }});
}

}  // namespace tenure::bench
