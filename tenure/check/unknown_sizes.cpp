#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "tenure/autograd/tape.h"
#include "tenure/check/checks.h"
#include "tenure/check/compare.h"
#include "tenure/check/expect-inl.h"
#include "tenure/graph/graph.h"
#include "tenure/graph/ir/probe.h"
#include "tenure/graph/session.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/operators.h"
#include "tenure/ops/reduce_ops.h"

namespace tenure::check {
namespace {

using ops::OpRecord;

/// A dimension of an input.
struct Place {
  std::size_t input;
  int dimension;
};
using Places = std::vector<Place>;

/// One case of every sample, in float64 if it takes that.
std::vector<Case> one_of_each_sample(const OpRecord& op) {
  const auto is_double = [](const Case& c) {
    return !c.inputs.empty() && c.inputs[0].dtype == DType::float64;
  };
  std::vector<Case> chosen;
  for (const Case& c : cases_of(op)) {
    if (c.inputs.empty()) continue;
    if (chosen.empty() || chosen.back().sample != c.sample) {
      chosen.push_back(c);
    } else if (is_double(c)) {
      chosen.back() = c;
    }
  }
  return chosen;
}

/// Every dimension, neighbours, all of an input, the same one of all inputs, and all if they are
/// few.
std::vector<Places> choices_of(const Case& c) {
  std::vector<Places> choices;
  Places all;
  std::vector<Places> across(kMaxRank);
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    for (int d = 0; d < c.inputs[i].shape.size(); ++d) {
      const Place place{.input = i, .dimension = d};
      choices.push_back({place});
      if (d > 0) choices.push_back({all.back(), place});
      all.push_back(place);
      across[static_cast<std::size_t>(d)].push_back(place);
    }
  }
  for (const Places& places : across) {
    if (places.size() > 1) choices.push_back(places);
  }
  constexpr std::size_t kFew = 4;
  if (c.inputs.size() > 1 && all.size() > 2 && all.size() <= kFew) choices.push_back(all);
  return choices;
}

/// Whether elements are places in other inputs, so that other sizes make them wrong.
bool has_places(const Case& c) {
  return std::any_of(c.inputs.begin(), c.inputs.end(), [&](const Input& input) {
    return !input.is_random || is_floating(input.dtype) != is_floating(c.inputs[0].dtype);
  });
}

/// The same call with other sizes: elements are repeated or left out.
Case resized(Case c, const Places& places, std::int64_t by) {
  for (const Place& place : places) {
    std::int64_t& size = c.inputs[place.input].shape[place.dimension];
    size = by == 0 ? 0 : by == 1 ? 1 : size + by - 2;
  }
  for (Input& input : c.inputs) {
    const std::vector<long double> values = input.values;
    const auto n = static_cast<std::size_t>(count(input.shape));
    input.values.clear();
    for (std::size_t i = 0; i < n; ++i) {
      input.values.push_back(values.empty() ? 1 : values[i % values.size()]);
    }
  }
  return c;
}

/// Of outputs that have a gradient, a number that depends on all elements.
Tensor scalarized(const std::vector<Tensor>& outputs) {
  Tensor total;
  for (const Tensor& output : outputs) {
    if (output.dtype() != DType::float64) continue;
    Tensor part = sum(output * output) + sum(output);
    total = total.defined() ? total + part : part;
  }
  return total;
}

bool is_differentiable(const Case& c) {
  if (c.op->gradient == nullptr && c.op->expand == nullptr) return false;
  bool has_double = false;
  for (const Input& input : c.inputs) {
    if (is_floating(input.dtype) && input.dtype != DType::float64) return false;
    has_double |= input.dtype == DType::float64;
  }
  return has_double;
}

/// Outputs, and gradients by the inputs that are floats.
struct Results {
  std::vector<Tensor> outputs{};
  std::vector<Tensor> gradients{};
};

Results computed(const Case& c, const std::vector<Tensor>& inputs, bool differentiates) {
  if (!differentiates) return {.outputs = run(c, inputs)};
  std::vector<Tensor> sources;
  for (const Tensor& input : inputs) {
    if (input.dtype() == DType::float64) sources.push_back(input);
  }
  GradientTape tape;
  tape.watch(sources);
  Results results{.outputs = run(c, inputs)};
  const Tensor target = scalarized(results.outputs);
  if (target.defined()) {
    results.gradients = tape.gradient(target, sources, {.unconnected = Unconnected::zero});
  }
  return results;
}

/// The message of what `f` throws, if that is a typed error.
template <class F>
std::optional<std::string> error_of(const F& f) {
  try {
    f();
  } catch (const InternalError& error) {
    return fmt::format("an InternalError: {}", error.what());
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

bool holds(const Shape& inferred, const Shape& found) {
  bool fits = inferred.size() == found.size();
  for (int d = 0; d < found.size() && fits; ++d) {
    fits = inferred[d] == kUnknown || inferred[d] == found[d];
  }
  return fits;
}

void expect_near(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  REQUIRE_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    REQUIRE_EQ(got[i].shape(), expected[i].shape());
    const auto a = got[i].to_vector<double>();
    const auto b = expected[i].to_vector<double>();
    for (std::size_t k = 0; k < a.size(); ++k) {
      if (std::isnan(a[k]) && std::isnan(b[k])) continue;
      if (a[k] == b[k]) continue;  // infinities
      REQUIRE_NEAR(a[k], b[k], 1e-12 * (1 + std::abs(b[k]))) << "gradient " << i;
    }
  }
}

void check_choice(const Case& c, const Places& places) {
  constexpr std::int64_t kChanges[] = {2, 3, 1, 0, 1000};  // the first leaves sizes as they are
  const bool differentiates = is_differentiable(c);
  std::vector<Case> cases;
  std::set<std::vector<int>> ranks;
  for (const std::int64_t change : kChanges) {
    if (change != 2 && has_places(c)) continue;
    // Rows of a thousand would be many; lengths alone are not.
    if (change == 1000 && (places.size() != 1 || c.inputs.size() != 1)) continue;
    cases.push_back(resized(c, places, change));
    const Case& last = cases.back();
    const auto outputs_ranks = [&] {
      std::vector<int> list;
      for (const Tensor& output : run(last, make_all(last))) list.push_back(output.rank());
      ranks.insert(list);
    };
    static_cast<void>(error_of(outputs_ranks));
  }
  Graph graph;
  std::vector<Tensor> symbols;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    Shape shape = c.inputs[i].shape;
    for (const Place& place : places) {
      if (place.input == i) shape[place.dimension] = kUnknown;
    }
    symbols.push_back(graph.placeholder(std::to_string(i), c.inputs[i].dtype, shape));
  }
  Results symbolic;
  const auto refused = error_of([&] { symbolic = computed(c, symbols, differentiates); });
  if (refused) {
    const bool says_why = refused->find(graph::kNotAllTried) != std::string::npos;
    CHECK_TRUE(ranks.size() > 1 || says_why) << "refused though a run takes it: " << *refused;
    return;
  }
  Session session(graph);
  std::vector<Tensor> fetches = symbolic.outputs;
  fetches.insert(fetches.end(), symbolic.gradients.begin(), symbolic.gradients.end());
  for (const Case& sized : cases) {
    const std::vector<Tensor> inputs = make_all(sized);
    std::vector<Feed> feeds;
    for (std::size_t i = 0; i < inputs.size(); ++i) feeds.emplace_back(symbols[i], inputs[i]);
    Results expected;
    const auto eager_error = error_of([&] { expected = computed(sized, inputs, differentiates); });
    std::vector<Tensor> got;
    const auto run_error = error_of([&] { got = session.run(fetches, feeds); });
    CHECK_WITHIN("with inputs like " + describe(sized));
    if (eager_error || run_error) {
      CHECK_TRUE(eager_error && run_error) << (eager_error ? "an eager call throws: " + *eager_error
                                                           : "the run throws: " + *run_error);
      continue;
    }
    const auto outputs = static_cast<std::ptrdiff_t>(symbolic.outputs.size());
    for (std::size_t o = 0; o < symbolic.outputs.size(); ++o) {
      CHECK_TRUE(holds(symbolic.outputs[o].shape(), expected.outputs[o].shape()))
          << "static shape " << to_string(symbolic.outputs[o].shape()) << ", found "
          << to_string(expected.outputs[o].shape());
    }
    CHECK_TRUE(equals({got.begin(), got.begin() + outputs}, expected.outputs)) << "in a graph";
    expect_near({got.begin() + outputs, got.end()}, expected.gradients);
  }
}

}  // namespace

void check_unknown_sizes(const OpRecord& op) {
  if (op.data_dependent || op.draws != nullptr) return;
  for (const Case& c : one_of_each_sample(op)) {
    CHECK_WITHIN(describe(c));
    for (const Places& places : choices_of(c)) {
      std::string text = "unknown:";
      for (const Place& place : places) {
        text += fmt::format(" {}.{}", place.input, place.dimension);
      }
      CHECK_WITHIN(text);
      check_choice(c, places);
    }
  }
}

}  // namespace tenure::check
