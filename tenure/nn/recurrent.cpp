#include "tenure/nn/recurrent.h"

#include <fmt/format.h>

#include "tenure/base/error.h"
#include "tenure/memory/threads/arguments.h"
#include "tenure/nn/initial.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::nn {

Recurrent::Recurrent(const char* kind, int gates, int biases, std::int64_t inputs,
                     std::int64_t units, const RecurrentOptions& options, Site site)
    : Layer(kind, site),
      units_(units),
      bidirectional_(options.bidirectional),
      dropout_(options.dropout, site) {
  mem::require_least(kind, {{"inputs", inputs}, {"units", units}, {"layers", options.layers}},
                     site);
  const std::int64_t directions = bidirectional_ ? 2 : 1;
  for (std::int64_t i = 0; i < options.layers * directions; ++i) {
    const std::int64_t layer = i / directions;
    const std::int64_t width = layer == 0 ? inputs : units * directions;
    const std::string end = fmt::format("_{}{}", layer, i % directions == 1 ? "_reverse" : "");
    const auto kernel = [&](const char* name, std::int64_t rows) {
      const auto initial = [&] {
        return initial_of("kernel_initializer", options.kernel_initializer, {rows, gates * units},
                          {rows, units}, options.dtype, site);
      };
      return add_parameter(name + end, initial, site);
    };
    Way way{.input_kernel = kernel("input_kernel", width),
            .hidden_kernel = kernel("hidden_kernel", units),
            .biases = {}};
    const auto zero = [&] { return init::zeros()({gates * units}, {}, options.dtype, site); };
    for (int bias = 0; bias < biases; ++bias) {
      const char* const name = biases == 1 ? "bias" : bias == 0 ? "input_bias" : "hidden_bias";
      way.biases.push_back(add_parameter(name + end, zero, site));
    }
    ways_.push_back(std::move(way));
  }
  if (options.dropout > 0) add("dropout", dropout_);
}

std::string Recurrent::describe() const {
  const std::size_t layers = ways_.size() / (bidirectional_ ? 2 : 1);
  return fmt::format("{} -> {}{}{}", ways_[0].input_kernel.shape()[0], units_,
                     layers > 1 ? fmt::format(", {} layers", layers) : "",
                     bidirectional_ ? ", both ways" : "");
}

Tensor Recurrent::state_of(const Tensor& states, std::size_t way, const char* name,
                           Site site) const {
  if (!states.defined()) return {};
  const Shape shape = states.shape();
  if (shape.size() != 3 || shape[0] != static_cast<std::int64_t>(ways_.size())) {
    throw ShapeError(
        kind(),
        fmt::format("{} is [{}, batch, {}], not {}", name, ways_.size(), units_, to_string(shape)),
        {shape.to_vector()});
  }
  return select({states, site}, 0, static_cast<std::int64_t>(way));
}

RecurrentResult Recurrent::go_all(Tensor sequence, const RecurrentStart& start, Site site) const {
  const std::size_t directions = bidirectional_ ? 2 : 1;
  std::vector<Tensor> h;
  std::vector<Tensor> c;
  for (std::size_t first = 0; first < ways_.size(); first += directions) {
    if (first > 0) sequence = dropout_(std::move(sequence), site);
    std::vector<Tensor> made;
    for (std::size_t d = 0; d < directions; ++d) {
      const std::size_t way = first + d;
      WayResult result = go(ways_[way], sequence, state_of(start.h, way, "h", site),
                            state_of(start.c, way, "c", site),
                            {.lengths = start.lengths, .from_end = d == 1}, site);
      made.push_back(std::move(result.sequence));
      h.push_back(std::move(result.h));
      if (result.c.defined()) c.push_back(std::move(result.c));
    }
    sequence = directions == 1 ? made[0] : concat(OperandList(made, site), 2);
  }
  return {sequence, stack(OperandList(h, site), 0),
          c.empty() ? Tensor() : stack(OperandList(c, site), 0)};
}

RecurrentResult Recurrent::run(const Tensor& x, const RecurrentStart& start, Site site) const {
  RecurrentResult result;
  const auto keep = [&](Tensor input) {
    result = go_all(std::move(input), start, site);
    return result.sequence;
  };
  apply_as(x, keep, site);
  return result;
}

Tensor Recurrent::forward(Tensor x) const { return go_all(std::move(x), {}, call_site()).sequence; }

Recurrent::WayResult Lstm::go(const Way& way, const Tensor& x, const Tensor& h, const Tensor& c,
                              const SequenceOptions& options, Site site) const {
  const LstmResult result =
      lstm({x, site}, {read(way.input_kernel, site), site}, {read(way.hidden_kernel, site), site},
           {read(way.biases[0], site), site}, {h, c}, options);
  return {result.sequence, result.last.h, result.last.c};
}

Recurrent::WayResult Gru::go(const Way& way, const Tensor& x, const Tensor& h, const Tensor&,
                             const SequenceOptions& options, Site site) const {
  const GruResult result =
      gru({x, site}, {read(way.input_kernel, site), site}, {read(way.hidden_kernel, site), site},
          {read(way.biases[0], site), site}, {read(way.biases[1], site), site}, h, options);
  return {result.sequence, result.last, {}};
}

}  // namespace tenure::nn
