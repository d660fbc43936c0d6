#include <memory>

#include "bench/contest.h"
#include "tenure/kernels/parallel.h"
#include "tenure/tenure.h"

namespace tenure::bench {
namespace {

/// Calls that are too small for several threads on some machines, or on some days.
void add(std::vector<Case>& cases, const std::string& name, const std::function<Work()>& make) {
  cases.push_back({"threads", name, [=](const Options& options) {
                     const auto on = [work = make()](int threads) -> Work {
                       return [=](std::int64_t n) {
                         set_num_threads(threads);
                         work(n);
                       };
                     };
                     std::vector<Figure> figures = run(
                         {.name = name,
                          .unit = kMicroseconds,
                          .ours = on(options.threads),
                          .peers = {{.name = "Tenure, 1 thread", .work = on(1), .target = 0.97}}},
                         options);
                     set_num_threads(options.threads);
                     return figures;
                   }});
}

template <class F>
Work call(F f, std::vector<Tensor> inputs) {
  return repeat([f, inputs = std::move(inputs)] { use(f(inputs)); });
}

}  // namespace

void add_threads_cases(std::vector<Case>& cases) {
  using Inputs = std::vector<Tensor>;
  for (const std::int64_t n : {1 << 13, 1 << 14, 1 << 16}) {
    add(cases, "tanh of " + std::to_string(n >> 10) + "K floats",
        [=] { return call([](const Inputs& in) { return tanh(in[0]); }, {normal({n})}); });
  }
  add(cases, "sum of 256K floats",
      [] { return call([](const Inputs& in) { return sum(in[0]); }, {normal({1 << 18})}); });
  for (const std::int64_t n : {64, 256, 512}) {
    const std::string of = " of [" + std::to_string(n) + "," + std::to_string(n) + "]";
    const auto any = [=] { return normal({n, n}); };
    const auto definite = [=] {
      const Tensor x = normal({n, n});
      return matmul(x, transpose(x)) + static_cast<double>(n) * eye(n);
    };
    add(cases, "matmul" + of, [=] {
      return call([](const Inputs& in) { return matmul(in[0], in[1]); }, {any(), any()});
    });
    add(cases, "cholesky" + of,
        [=] { return call([](const Inputs& in) { return cholesky(in[0]); }, {definite()}); });
    add(cases, "solve" + of + ", as many", [=] {
      return call([](const Inputs& in) { return solve(in[0], in[1]); }, {definite(), any()});
    });
    add(cases, "qr" + of,
        [=] { return call([](const Inputs& in) { return qr(in[0]).q; }, {any()}); });
    add(cases, "svd" + of,
        [=] { return call([](const Inputs& in) { return svd(in[0]).s; }, {any()}); });
  }
}

}  // namespace tenure::bench
