#include <gtest/gtest.h>

#include <functional>

#include "tenure/tenure.h"

// Sizes that are known only when a graph runs. The harness holds every op to them; here are the
// functions that are written in several ops, and what reads sizes.

namespace tenure {
namespace {

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

struct Case {
  const char* name;
  Function f;
  std::vector<Shape> shapes;        // of the arguments; kUnknown where a run knows
  std::vector<std::int64_t> sizes;  // of what is unknown, to run with
};

std::vector<Tensor> gradients_of(const Function& f, const std::vector<Tensor>& x,
                                 std::vector<Tensor>* results) {
  GradientTape tape;
  tape.watch(x);
  *results = f(x);
  Tensor total;
  for (const Tensor& y : *results) {
    if (!is_floating(y.dtype())) continue;
    const Tensor part = sum(y * y) + sum(y);
    total = total.defined() ? total + part : part;
  }
  return tape.gradient(total, x, {.unconnected = Unconnected::zero});
}

std::vector<Tensor> inputs_of(const std::vector<Shape>& shapes, std::int64_t size) {
  std::vector<Tensor> inputs;
  for (Shape shape : shapes) {
    for (int d = 0; d < shape.size(); ++d) shape[d] = shape[d] == kUnknown ? size : shape[d];
    inputs.push_back(normal(shape, 0, 1, DType::float64));
  }
  return inputs;
}

void expect_as_eager(const Case& c) {
  SCOPED_TRACE(c.name);
  Graph graph;
  std::vector<Tensor> symbols;
  for (const Shape& shape : c.shapes) {
    symbols.push_back(graph.placeholder(std::to_string(symbols.size()), DType::float64, shape));
  }
  std::vector<Tensor> results;
  std::vector<Tensor> fetches = gradients_of(c.f, symbols, &results);
  fetches.insert(fetches.end(), results.begin(), results.end());
  Session session(graph);
  for (const std::int64_t size : c.sizes) {
    SCOPED_TRACE(size);
    const std::vector<Tensor> inputs = inputs_of(c.shapes, size);
    std::vector<Feed> feeds;
    for (std::size_t i = 0; i < inputs.size(); ++i) feeds.push_back({symbols[i], inputs[i]});
    std::vector<Tensor> expected;
    const std::vector<Tensor> gradients = gradients_of(c.f, inputs, &expected);
    const std::vector<Tensor> got = session.run(fetches, feeds);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      ASSERT_EQ(got[i].shape(), gradients[i].shape());
      if (gradients[i].size() == 0) continue;
      const double scale = 1 + max(abs(gradients[i])).item<double>();
      EXPECT_LE(max(abs(got[i] - gradients[i])).item<double>(), 1e-12 * scale) << "by " << i;
    }
    for (std::size_t o = 0; o < expected.size(); ++o) {
      const Tensor& y = got[gradients.size() + o];
      ASSERT_EQ(y.shape(), expected[o].shape());
      EXPECT_EQ(y.to_vector<double>(), expected[o].to_vector<double>()) << "result " << o;
      for (int d = 0; d < y.rank(); ++d) {
        if (results[o].shape().is_known(d)) {
          EXPECT_EQ(results[o].dim(d), y.dim(d));
        }
      }
    }
  }
}

constexpr std::int64_t u = kUnknown;

TEST(UnknownSizes, FunctionsGiveWhatEagerCallsGive) {
  const auto one = [](const std::function<Tensor(const Tensor&)>& f) -> Function {
    return [f](const std::vector<Tensor>& x) { return std::vector{f(x[0])}; };
  };
  const auto w = [](const Shape& shape) { return full(shape, 0.5, DType::float64); };
  const std::vector<Case> cases{
      {"slice", one([](const Tensor& x) { return slice(x, 0, 0, 5); }), {{u}}, {3, 5, 9, 0}},
      {"var of a slice",
       [](const std::vector<Tensor>& x) { return std::vector{var(slice(x[0], 0, 0, 5) * x[1])}; },
       {{u}, {}},
       {3, 5, 9, 2}},
      {"mean of a slice",
       one([](const Tensor& x) { return mean(slice(x, 0, 0, 5) * x); }),
       {{u}},
       {3, 5, 1}},
      {"far slice",
       one([](const Tensor& x) { return slice(x, 0, 1000, 1010); }),
       {{u}},
       {3, 1005, 2000}},
      {"reshape",
       one([](const Tensor& x) {
         return reshape(x, {-1, 2});
       }),
       {{u}},
       {4, 6, 0}},
      {"reshape to a shape",
       one([](const Tensor& x) {
         return reshape(x, {3, 12});
       }),
       {{u, u}},
       {6}},
      {"broadcast", one([&](const Tensor& x) { return x + w({5}); }), {{u}}, {5, 1}},
      {"squeeze", one([](const Tensor& x) { return squeeze(x, 0); }), {{u, 3}}, {1}},
      {"select", one([](const Tensor& x) { return select(x, 0, 9000); }), {{u}}, {9001, 10000}},
      {"topk", one([](const Tensor& x) { return topk(x, 200).values; }), {{u}}, {200, 300}},
      {"split",
       [](const std::vector<Tensor>& x) {
         return split(x[0], {2, 3}, 0);
       },
       {{u, 2}},
       {5}},
      {"ones_like", one([](const Tensor& x) { return ones_like(x) * x; }), {{u, u}}, {2, 0}},
      {"size", one([](const Tensor& x) { return sum(x) / size(x); }), {{u, 3}}, {2, 5}},
      {"dim", one([](const Tensor& x) { return x * dim(x, 0); }), {{u, 3}}, {2, 5}},
      {"with_sizes",
       one([](const Tensor& x) {
         return with_sizes(x, [](const Tensor& known) {
           Tensor total = zeros({3}, DType::float64);
           for (std::int64_t i = 0; i < known.dim(0); ++i) total = total + select(known, 0, i) * i;
           return total / known.size();
         });
       }),
       {{u, 3}},
       {1, 4}},
      {"index",
       one([](const Tensor& x) {
         return index(x, {Slice{1, -1}, 0});
       }),
       {{u, 3}},
       {2, 5}},
      {"index by far numbers",
       one([](const Tensor& x) {
         return index(x, {Slice{300, 310}});
       }),
       {{u}},
       {3, 305, 400}},
      {"index_update",
       one([](const Tensor& x) {
         return index_update(x, {Slice{0, 2}}, 7.0);
       }),
       {{u, 3}},
       {1, 5}},
      {"index by tensors",
       one([](const Tensor& x) {
         return index(x, {tensor({0, 1, 0}), Slice{}});
       }),
       {{u, u}},
       {4}},
      {"einsum",
       one([&](const Tensor& x) {
         return einsum("ij,jk->ik", {x, w({3, 2})});
       }),
       {{u, 3}},
       {1, 4}},
      {"group_norm",
       one([&](const Tensor& x) { return group_norm(x, 2, w({4}), w({4})); }),
       {{u, u, 4}},
       {2, 3}},
      {"conv2d same",
       one([&](const Tensor& x) {
         return conv2d(x, w({3, 3, 3, 2}), {.stride = 2, .padding = Padding::same()});
       }),
       {{u, u, u, 3}},
       {4, 5}},
      {"conv_transpose2d",
       one([&](const Tensor& x) {
         return conv_transpose2d(x, w({3, 3, 3, 2}), {.stride = 2});
       }),
       {{u, u, u, 2}},
       {2, 4}},
      {"lstm",
       [&](const std::vector<Tensor>& x) {
         const LstmResult y = lstm(x[0], w({3, 8}), w({2, 8}), w({8}));
         return std::vector{y.sequence, y.last.h, y.last.c};
       },
       {{u, u, 3}},
       {1, 3}},
      {"gru",
       [&](const std::vector<Tensor>& x) {
         const GruResult y = gru(x[0], w({3, 6}), w({2, 6}), w({6}), w({6}));
         return std::vector{y.sequence, y.last};
       },
       {{u, 4, 3}},
       {1, 3}},
      {"causal attention",
       [](const std::vector<Tensor>& x) {
         return std::vector{attention(x[0], x[1], x[1], {.causal = true})};
       },
       {{u, u, 4}, {u, u, 4}},
       {2, 3}},
      {"pad",
       one([](const Tensor& x) {
         return pad(x, {{1, 2}}, PadMode::reflect);
       }),
       {{u}},
       {3, 6}},
      {"tile and repeat",
       one([](const Tensor& x) {
         return tile(x, {2, 3}) * sum(x);
       }),
       {{u, u}},
       {2, 3}},
      {"concat",
       [](const std::vector<Tensor>& x) { return std::vector{concat(OperandList(x))}; },
       {{u, 3}, {2, 3}},
       {1, 4}},
      {"diagonal", one([](const Tensor& x) { return diagonal(x); }), {{u, 3}}, {2, 5}},
      {"cumprod of a product",
       one([](const Tensor& x) { return prod(x, 0) + cumsum(x, 0); }),
       {{u, 3}},
       {1, 4}}};
  for (const Case& c : cases) expect_as_eager(c);
}

TEST(UnknownSizes, GradientsOfGradients) {
  const std::vector<std::function<Tensor(const Tensor&)>> functions{
      [](const Tensor& x) { return var(slice(x, 0, 0, 3)) * sum(x * x * x); },
      [](const Tensor& x) {
        return sum(square(index(x, {Slice{1, {}}}))) * mean(x * x);
      },
      [](const Tensor& x) {
        return einsum("i,i->", {x, x * x}) / size(x);
      },
      [](const Tensor& x) {
        return with_sizes(x, [](const Tensor& known) { return sum(pow(known, 3)) / known.size(); });
      }};
  const auto slopes = [](const auto& f, const Tensor& x) {
    GradientTape outer;
    outer.watch(x);
    GradientTape inner;
    inner.watch(x);
    const Tensor first = inner.gradient(f(x), x);
    return std::vector{first, outer.gradient(sum(square(first)), x)};
  };
  for (std::size_t i = 0; i < functions.size(); ++i) {
    SCOPED_TRACE(i);
    Graph graph;
    const Tensor x = graph.placeholder("x", DType::float64, {u});
    const auto symbolic = slopes(functions[i], x);
    Session session(graph);
    for (const std::int64_t n : {2, 5}) {
      const Tensor x0 = uniform({n}, 0.5, 1.5, DType::float64);
      const auto expected = slopes(functions[i], x0);
      const auto got = session.run(symbolic, {{x, x0}});
      for (std::size_t k = 0; k < 2; ++k) {
        const double scale = 1 + max(abs(expected[k])).item<double>();
        EXPECT_LE(max(abs(got[k] - expected[k])).item<double>(), 1e-11 * scale) << k;
      }
    }
  }
}

}  // namespace
}  // namespace tenure
