#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenure/nn/attention.h"
#include "tenure/nn/init.h"
#include "tenure/nn/layer.h"
#include "tenure/ops/recurrent_ops.h"

namespace tenure::nn {

struct RecurrentOptions {
  std::int64_t layers = 1;     ///< each reads the sequence of the one before
  bool bidirectional = false;  ///< a second one goes from the end; results lie side by side
  double dropout = 0;          ///< between layers
  Initializer kernel_initializer = init::glorot_uniform();
  DType dtype = DType::float32;
};

/// What recurrent layers are begun with; each part may be left out.
struct RecurrentStart {
  /// States of each layer, and of both its directions: [layers * directions, batch, units].
  Tensor h{};
  Tensor c{};  ///< of an Lstm
  /// The number of steps of each sequence, int32 or int64 [batch]; what is behind counts nothing,
  /// and gives zeros.
  Tensor lengths{};
};

/// What recurrent layers give.
struct RecurrentResult {
  Tensor sequence{};  ///< of the last layer: [batch, time, directions * units]
  Tensor h{};         ///< the last states: [layers * directions, batch, units]
  Tensor c{};         ///< of an Lstm
};

/// Recurrent layers over sequences [batch, time, inputs]. As a layer it gives the sequence of the
/// last one, run() the last states too. Layer l has "input_kernel_l", "hidden_kernel_l" and biases,
/// and the same with "_reverse" for its way back; see lstm() and gru() for their order.
class Recurrent : public Layer {
 public:
  std::string describe() const override;

  /// Throws ShapeError and DTypeError for states and lengths that do not fit.
  RecurrentResult run(const Tensor& x, const RecurrentStart& start = {},
                      Site site = Site::current()) const;

 protected:
  /// What one way through a sequence has, and what it gives.
  struct Way {
    Variable input_kernel;
    Variable hidden_kernel;
    std::vector<Variable> biases;
  };
  struct WayResult {
    Tensor sequence;
    Tensor h;
    Tensor c;  ///< if there is one
  };

  Recurrent(const char* kind, int gates, int biases, std::int64_t inputs, std::int64_t units,
            const RecurrentOptions& options, Site site);

  Tensor forward(Tensor x) const override;
  /// One way through a sequence; states may be empty.
  virtual WayResult go(const Way& way, const Tensor& x, const Tensor& h, const Tensor& c,
                       const SequenceOptions& options, Site site) const = 0;

 private:
  RecurrentResult go_all(Tensor x, const RecurrentStart& start, Site site) const;
  Tensor state_of(const Tensor& states, std::size_t way, const char* name, Site site) const;

  std::int64_t units_;
  bool bidirectional_;
  std::vector<Way> ways_;  // two of each layer if it is bidirectional
  Dropout dropout_;
};

class Lstm final : public Recurrent {
 public:
  Lstm(std::int64_t inputs, std::int64_t units, const RecurrentOptions& options = {},
       Site site = Site::current())
      : Recurrent("Lstm", 4, 1, inputs, units, options, site) {}

 private:
  WayResult go(const Way& way, const Tensor& x, const Tensor& h, const Tensor& c,
               const SequenceOptions& options, Site site) const override;
};

class Gru final : public Recurrent {
 public:
  Gru(std::int64_t inputs, std::int64_t units, const RecurrentOptions& options = {},
      Site site = Site::current())
      : Recurrent("Gru", 3, 2, inputs, units, options, site) {}

 private:
  WayResult go(const Way& way, const Tensor& x, const Tensor& h, const Tensor& c,
               const SequenceOptions& options, Site site) const override;
};

}  // namespace tenure::nn
