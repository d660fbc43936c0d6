#pragma once

#include "tenure/ops/core/operand.h"

// Recurrent layers over whole sequences, batch first. Weights stand on the right: x is [batch,
// time, inputs], input weights [inputs, gates * units], hidden weights [units, gates * units],
// biases [gates * units]. (PyTorch's are the transposes.) Cells are in nn/lstm.cpp and nn/gru.cpp,
// sequences in nn/recurrent.cpp.

namespace tenure {

/// One step of an LSTM: `x` and `h` are the products of input and hidden state with their weights,
/// biases included, [batch, 4 units] in the order i, f, g, o, as PyTorch and Keras have it; c is
/// [batch, units].
///   i, f, o = sigmoid(x + h), g = tanh(x + h); new c = f c + i g; new h = o tanh(new c)
struct LstmState {
  Tensor h{};
  Tensor c{};
};
LstmState lstm_cell(const Operand& x, const Operand& h, const Operand& c);

struct LstmResult {
  Tensor sequence{};  ///< h after every step: [batch, time, units]
  LstmState last{};   ///< [batch, units] each
};
/// How sequences are gone through.
struct SequenceOptions {
  /// The number of steps of each sequence, int32 or int64 [batch]; all have all steps unless set.
  /// Steps behind it leave the state as it is, and give zeros.
  Tensor lengths{};
  bool from_end = false;  ///< the last step comes first; results stand where their steps do
};
/// An LSTM over sequences. It begins with zeros where `initial` has no tensor.
LstmResult lstm(const Operand& x, const Operand& input_weights, const Operand& hidden_weights,
                const Operand& bias, const LstmState& initial = {},
                const SequenceOptions& options = {});

/// One step of a GRU: `x` and `h` are the products of input and hidden state with their weights,
/// biases included, [batch, 3 units] in the order r, z, n of PyTorch (Keras: z, r, n, and as with
/// its reset_after); `state` is [batch, units].
///   r, z = sigmoid(x + h), n = tanh(x + r h); new state = (1 - z) n + z state
Tensor gru_cell(const Operand& x, const Operand& h, const Operand& state);

struct GruResult {
  Tensor sequence{};  ///< the state after every step: [batch, time, units]
  Tensor last{};      ///< [batch, units]
};
/// A GRU over sequences. It begins with zeros if `initial` is empty.
GruResult gru(const Operand& x, const Operand& input_weights, const Operand& hidden_weights,
              const Operand& input_bias, const Operand& hidden_bias, const Tensor& initial = {},
              const SequenceOptions& options = {});

}  // namespace tenure
