#include "bench/contest.h"
#include "bench/peer_torch.h"
#include "tenure/tenure.h"

// Linear algebra of float32. libtorch has that of LAPACK, which some of it takes longer on two
// threads than on one: it is asked both ways.

namespace tenure::bench {
namespace {

/// The same on one thread of libtorch's.
Work on_one_thread(Work work, int threads) {
  if (!work) return work;
  return [work = std::move(work), threads](std::int64_t n) {
    set_torch_threads(1);
    work(n);
    set_torch_threads(threads);
  };
}

void add(std::vector<Case>& cases, const std::string& name, const char* torch_name,
         const std::vector<std::vector<std::int64_t>>& shapes, Work (*make)(std::int64_t n)) {
  cases.push_back({"linalg", name, [=](const Options& options) {
                     std::vector<Entrant> peers{{"libtorch", torch_call(torch_name, shapes)}};
                     if (options.threads > 1) {
                       peers.push_back(
                           {"libtorch, 1 thread",
                            on_one_thread(torch_call(torch_name, shapes), options.threads)});
                     }
                     return run({.name = name,
                                 .unit = kMicroseconds,
                                 .ours = make(shapes[0][0]),
                                 .peers = std::move(peers)},
                                options);
                   }});
}

Tensor positive_definite(std::int64_t n) {
  const Tensor x = normal({n, n});
  return add(matmul(x, transpose(x)), eye(n));
}

}  // namespace

void add_linalg_cases(std::vector<Case>& cases) {
  for (const std::int64_t n : {64, 256, 512}) {
    const std::string size = " of [" + std::to_string(n) + "," + std::to_string(n) + "]";
    const std::vector<std::int64_t> square{n, n};
    add(cases, "cholesky" + size, "cholesky", {square}, [](std::int64_t rows) {
      return repeat([a = positive_definite(rows)] { use(cholesky(a)); });
    });
    add(cases, "solve" + size + ", 1 column", "solve", {square, {n, 1}}, [](std::int64_t rows) {
      return repeat([a = normal({rows, rows}), b = normal({rows, 1})] { use(solve(a, b)); });
    });
    add(cases, "solve" + size + ", as many", "solve", {square, square}, [](std::int64_t rows) {
      return repeat([a = normal({rows, rows}), b = normal({rows, rows})] { use(solve(a, b)); });
    });
    add(cases, "qr" + size, "qr", {square}, [](std::int64_t rows) {
      return repeat([a = normal({rows, rows})] { use(qr(a)); });
    });
    add(cases, "eigh" + size, "eigh", {square}, [](std::int64_t rows) {
      return repeat([a = normal({rows, rows})] { use(eigh(a)); });
    });
    add(cases, "svd" + size, "svd", {square}, [](std::int64_t rows) {
      return repeat([a = normal({rows, rows})] { use(svd(a)); });
    });
  }
}

}  // namespace tenure::bench
