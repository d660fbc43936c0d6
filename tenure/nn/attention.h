#pragma once

#include <cstdint>
#include <string>

#include "tenure/nn/dense.h"
#include "tenure/nn/layer.h"
#include "tenure/nn/norm.h"

namespace tenure::nn {

/// Leaves out each element with probability p in training, and scales what stays by 1 / (1 - p).
class Dropout : public Layer {
 public:
  explicit Dropout(double p, Site site = Site::current());
  std::string describe() const override;

 protected:
  Tensor forward(Tensor x) const override;

 private:
  double p_;
};

struct AttentionLayerOptions {
  bool causal = false;  ///< no position sees those after it
  Initializer initializer = init::glorot_uniform();
  DType dtype = DType::float32;
};

/// Keys and values of the positions that were seen, [batch, heads, length, width / heads]; empty at
/// first. For one layer, and one sequence that goes on.
struct KeyValueCache {
  Tensor keys{};
  Tensor values{};

  /// Positions that it has.
  std::int64_t length() const { return keys.defined() ? keys.shape()[2] : 0; }
};

/// What attention may be given besides the sequence.
struct AttentionInputs {
  /// Another sequence to attend to, instead of its own.
  Tensor memory{};
  /// Broadcasts to [batch, heads, queries, keys]: bool, true where a query sees a key, or a float
  /// that is added to the scores. Of padded sequences, [batch, 1, 1, keys].
  Tensor mask{};
  /// Its keys and values come before the sequence's own, which are added to it.
  KeyValueCache* cache = nullptr;
};

/// Attention of a sequence [batch, length, width] to itself, in several heads.
class MultiHeadAttention : public Layer {
 public:
  MultiHeadAttention(std::int64_t width, std::int64_t heads,
                     const AttentionLayerOptions& options = {}, Site site = Site::current());
  std::string describe() const override;

  using Layer::operator();
  /// Attention to another sequence.
  Tensor operator()(Tensor x, const Tensor& memory, Site site = Site::current()) const;
  /// With a mask or a cache. When it throws, the cache is as before.
  Tensor operator()(Tensor x, const AttentionInputs& inputs, Site site = Site::current()) const;

 protected:
  Tensor forward(Tensor x) const override;

 private:
  Tensor attend(const Tensor& x, const AttentionInputs& inputs, Site site) const;
  Tensor split(Tensor x, Site site) const;

  std::int64_t heads_;
  bool causal_;
  Dense query_;
  Dense key_;
  Dense value_;
  Dense out_;
};

struct TransformerOptions {
  std::int64_t hidden = 0;  ///< of the MLP; four times the width unless set
  bool causal = true;
  double dropout = 0;
  Initializer initializer = init::glorot_uniform();
  DType dtype = DType::float32;
};

/// Attention and an MLP, each behind a layer norm and beside what it changes.
class TransformerBlock : public Layer {
 public:
  TransformerBlock(std::int64_t width, std::int64_t heads, const TransformerOptions& options = {},
                   Site site = Site::current());

  using Layer::operator();
  /// With a mask or a cache, as of MultiHeadAttention.
  Tensor operator()(Tensor x, const AttentionInputs& inputs, Site site = Site::current()) const;

 protected:
  Tensor forward(Tensor x) const override;

 private:
  Tensor apply(Tensor x, const AttentionInputs& inputs, Site site) const;

  LayerNorm norm1_;
  MultiHeadAttention attention_;
  LayerNorm norm2_;
  Dense up_;
  Dense down_;
  Dropout dropout_;
};

}  // namespace tenure::nn
