#include "tenure/autograd/control.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "tenure/autograd/state.h"
#include "tenure/autograd/tape.h"
#include "tenure/graph/control.h"
#include "tenure/graph/ir/control_ops.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/operators.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::autograd {
namespace {

using Tensors = std::vector<Tensor>;
using graph::Bodies;
using graph::Body;
using ops::Backward;

bool is_float(const Tensor& tensor) { return is_floating(tensor.dtype()); }

const Bodies& bodies_of(const Backward& b) {
  const auto& bodies =
      static_cast<const Bodies&>(*b.attributes.opaque(graph::ControlAttributes::bodies));
  if (bodies.draws()) {
    throw GradientError(
        "a branch or a loop that draws random numbers cannot be differentiated as a node: the way "
        "back computes it again and would draw others; draw them before and pass them in",
        b.site);
  }
  return bodies;
}

/// The outputs that a gradient arrives at, among those from `first` on.
std::vector<std::size_t> seeded_outputs(const Backward& b, std::size_t first = 0) {
  std::vector<std::size_t> places;
  for (std::size_t o = first; o < b.gradients.size(); ++o) {
    if (b.gradients[o].defined()) places.push_back(o);
  }
  return places;
}

/// The gradient of the weighted outputs, those that have a seed, by some tensors that a tape
/// watched.
Tensors gradients(GradientTape& tape, const Tensors& outputs, const Tensors& seeds,
                  const Tensors& sources, Site site) {
  Tensor total;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!seeds[o].defined()) continue;
    Tensor part = sum({mul({outputs[o], site}, {seeds[o], site}), site});
    if (total.defined()) {
      part = cast({std::move(part), site}, total.dtype());
      total = add({std::move(total), site}, {std::move(part), site});
    } else {
      total = std::move(part);
    }
  }
  if (!total.defined() || sources.empty()) {
    Tensors zero;
    for (const Tensor& source : sources) zero.push_back(zeros_like(source, std::nullopt, site));
    return zero;
  }
  return tape.gradient(total, sources, {.unconnected = Unconnected::zero}, site);
}

/// The gradients of a body's results by those of its inputs that `wanted` names.
Tensors body_gradients(const Body& body, const Tensors& inputs, const Tensors& seeds,
                       const std::vector<std::size_t>& wanted, Site site) {
  GradientTape tape(GradientTape::Options{.watch_variables = false}, site);
  Tensors sources;
  for (const std::size_t i : wanted) sources.push_back(inputs[i]);
  tape.watch(sources, site);
  return gradients(tape, graph::replay(body.program, body.inputs, body.results, inputs), seeds,
                   sources, site);
}

std::vector<std::size_t> range(std::size_t begin, std::size_t end) {
  std::vector<std::size_t> numbers(end - begin);
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

}  // namespace

void gradient_of_cond(Backward& b) {
  const Bodies& bodies = bodies_of(b);
  Tensors operands(b.inputs.begin() + 1, b.inputs.end());
  const std::size_t n = operands.size();
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < n; ++i) {
    if (b.wants(i + 1)) wanted.push_back(i);
  }
  const std::vector<std::size_t> seeded = seeded_outputs(b);
  for (const std::size_t o : seeded) operands.push_back(b.gradients[o]);
  const auto branch = [&](std::size_t which) {
    return [&, which](const Tensors& tensors) {
      // The places of the body's inputs among all.
      const std::vector<std::size_t> shared = range(0, n - bodies.captures());
      const std::vector<std::size_t> captures = range(n - bodies.captures(), n);
      const auto places = bodies.inputs_of<std::size_t>(which, shared, captures);
      Tensors inputs;
      std::vector<std::size_t> sources;  // among the inputs
      for (std::size_t i = 0; i < places.size(); ++i) {
        inputs.push_back(tensors[places[i]]);
        if (std::find(wanted.begin(), wanted.end(), places[i]) != wanted.end()) {
          sources.push_back(i);
        }
      }
      Tensors seeds(b.gradients.size());
      for (std::size_t s = 0; s < seeded.size(); ++s) seeds[seeded[s]] = tensors[n + s];
      const Tensors found = body_gradients(bodies[which], inputs, seeds, sources, b.site);
      Tensors results;
      for (const std::size_t place : wanted) {
        Tensor result;
        for (std::size_t s = 0; s < sources.size(); ++s) {
          if (places[sources[s]] == place) result = found[s];
        }
        results.push_back(result.defined() ? result
                                           : zeros_like(tensors[place], std::nullopt, b.site));
      }
      return results;
    };
  };
  const Tensors results =
      graph::run_cond(Operand(b.inputs[0], b.site), branch(0), branch(1), operands);
  for (std::size_t i = 0; i < wanted.size(); ++i) b.results[wanted[i] + 1] = results[i];
}

void gradient_of_scan(Backward& b) {
  const Bodies& bodies = bodies_of(b);
  const Body& body = bodies[0];
  const auto carried =
      static_cast<std::size_t>(b.attributes.integer(graph::ControlAttributes::carried));
  const std::size_t captured = bodies.captures();
  const std::size_t scanned = b.inputs.size() - carried - captured;
  const auto inputs_from = [&](std::size_t begin, std::size_t n) {
    const auto first = b.inputs.begin() + static_cast<std::ptrdiff_t>(begin);
    return Tensors(first, first + static_cast<std::ptrdiff_t>(n));
  };
  const Tensors carry = inputs_from(0, carried);
  const Tensors xs = inputs_from(carried, scanned);
  const Tensors captures = inputs_from(carried + scanned, captured);
  const auto with_captures = [&](Tensors tensors) {
    tensors.insert(tensors.end(), captures.begin(), captures.end());
    return tensors;
  };

  // What the carry was before each step.
  const auto there = [&](const Tensors& tensors) {
    Tensors results =
        graph::replay(body.program, body.inputs, body.results, with_captures(tensors));
    results.resize(carried);
    results.insert(results.end(), tensors.begin(),
                   tensors.begin() + static_cast<std::ptrdiff_t>(carried));
    return results;
  };
  const Tensors again = graph::run_scan(there, carry, xs, b.site);

  // Gradients of float carries and of captures go from step to step, last one first.
  std::vector<std::size_t> sources;  // among the body's inputs
  Tensors start;
  for (std::size_t i = 0; i < carried; ++i) {
    if (!is_float(carry[i])) continue;
    sources.push_back(i);
    start.push_back(b.gradients[i].defined() ? b.gradients[i]
                                             : zeros_like(carry[i], std::nullopt, b.site));
  }
  const std::size_t float_carries = sources.size();
  std::vector<std::size_t> wanted_xs;
  for (std::size_t i = carried; i < carried + scanned; ++i) {
    if (b.wants(i)) wanted_xs.push_back(i);
  }
  std::vector<std::size_t> wanted_captures;
  for (std::size_t i = carried + scanned; i < b.inputs.size(); ++i) {
    if (!b.wants(i)) continue;
    wanted_captures.push_back(i);
    start.push_back(zeros_like(b.inputs[i], std::nullopt, b.site));
  }
  sources.insert(sources.end(), wanted_captures.begin(), wanted_captures.end());
  sources.insert(sources.end(), wanted_xs.begin(), wanted_xs.end());
  Tensors backwards;
  const auto add_flipped = [&](const Tensor& tensor) {
    backwards.push_back(flip(Operand(tensor, b.site), {0}));
  };
  for (std::size_t i = 0; i < carried; ++i) add_flipped(again[carried + i]);
  for (const Tensor& x : xs) add_flipped(x);
  const std::vector<std::size_t> seeded = seeded_outputs(b, carried);
  for (const std::size_t o : seeded) add_flipped(b.gradients[o]);
  const auto step = [&](const Tensors& tensors) {
    const std::size_t states = start.size();
    const auto part = [&](std::size_t begin, std::size_t end) {
      return Tensors(tensors.begin() + static_cast<std::ptrdiff_t>(begin),
                     tensors.begin() + static_cast<std::ptrdiff_t>(end));
    };
    const Tensors inputs = part(states, states + carried + scanned);
    Tensors seeds(b.gradients.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < carried; ++i) {
      if (is_float(carry[i])) seeds[i] = tensors[next++];
    }
    for (std::size_t s = 0; s < seeded.size(); ++s) {
      seeds[seeded[s]] = tensors[states + carried + scanned + s];
    }
    Tensors found = body_gradients(body, with_captures(inputs), seeds, sources, b.site);
    for (std::size_t c = float_carries; c < states; ++c) {
      found[c] = add({found[c], b.site}, {tensors[c], b.site});
    }
    return found;
  };
  const Tensors found = graph::run_scan(step, start, backwards, b.site);
  for (std::size_t i = 0, next = 0; i < carried; ++i) {
    if (!is_float(carry[i])) continue;
    if (b.wants(i)) b.results[i] = found[next];
    ++next;
  }
  for (std::size_t c = 0; c < wanted_captures.size(); ++c) {
    b.results[wanted_captures[c]] = found[float_carries + c];
  }
  for (std::size_t x = 0; x < wanted_xs.size(); ++x) {
    b.results[wanted_xs[x]] = flip(Operand(found[start.size() + x], b.site), {0});
  }
}

void gradient_of_while(Backward& b) {
  const std::int64_t most = b.attributes.integer(graph::ControlAttributes::most_iterations);
  if (most == 0) {
    throw GradientError(
        "while_loop can be differentiated only with max_iterations: without it, "
        "nobody knows how much to keep for the way back",
        b.site);
  }
  const Bodies& bodies = bodies_of(b);
  const std::size_t states = b.inputs.size() - bodies.captures();
  const Tensors inputs(b.inputs.begin(), b.inputs.end());
  const auto all = std::span<const Tensor>(inputs);
  const auto run_body = [&](std::size_t which, const Tensors& state) {
    const Body& body = bodies[which];
    return graph::replay(body.program, body.inputs, body.results,
                         bodies.inputs_of<Tensor>(which, state, all.subspan(states)));
  };
  // As many steps as there may be; those after the end change nothing.
  const auto step = [&](const Tensors& tensors) {
    const Tensors state(tensors.begin(), tensors.begin() + static_cast<std::ptrdiff_t>(states));
    return graph::run_cond(
        Operand(run_body(0, state).front(), b.site),
        [&](const Tensors& s) { return run_body(1, s); }, [](const Tensors& s) { return s; },
        state);
  };
  std::vector<std::size_t> wanted;
  Tensors sources;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!b.wants(i)) continue;
    wanted.push_back(i);
    sources.push_back(inputs[i]);
  }
  GradientTape tape(GradientTape::Options{.watch_variables = false}, b.site);
  tape.watch(sources, b.site);
  const Tensors outputs =
      graph::run_scan(step, {inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(states)},
                      {zeros({most}, DType::uint8, b.site)}, b.site);
  const Tensors seeds(b.gradients.begin(), b.gradients.end());
  const Tensors found = gradients(tape, outputs, seeds, sources, b.site);
  std::set<std::uint64_t> given;  // a symbol may be several inputs; its gradient is of all of them
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (given.insert(key_of(sources[i])).second) b.results[wanted[i]] = found[i];
  }
}

}  // namespace tenure::autograd
