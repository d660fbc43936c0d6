#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenure/tenure.h"

namespace tenure::examples {

struct GptSizes {
  std::int64_t width = 256;
  std::int64_t heads = 4;
  int layers = 4;
  std::int64_t length = 128;
  std::int64_t tokens = 96;
  /// Logits are products with the table of tokens, as GPT-2 has them, and not of a head of its own.
  bool is_tied = false;
};

/// Tokens to the logits of those after each: a transformer that sees what was before.
class Gpt final : public nn::Layer {
 public:
  explicit Gpt(const GptSizes& sizes)
      : Layer("Gpt"),
        positions_(add_parameter("positions",
                                 [&] {
                                   return normal({sizes.length, sizes.width}, 0, 0.02);
                                 })),
        tokens_(sizes.tokens, sizes.width),
        norm_(sizes.width) {
    add("tokens", tokens_);
    for (int i = 0; i < sizes.layers; ++i) {
      blocks_.emplace_back(sizes.width, sizes.heads);
      add("block" + std::to_string(i), blocks_.back());
    }
    add("norm", norm_);
    if (sizes.is_tied) return;
    head_.emplace(sizes.width, sizes.tokens);
    add("head", *head_);
  }

 protected:
  Tensor forward(Tensor x) const override {
    x = tokens_(std::move(x)) + read(positions_);
    for (const nn::TransformerBlock& block : blocks_) x = block(std::move(x));
    x = norm_(std::move(x));
    return head_ ? (*head_)(std::move(x)) : matmul(x, transpose(read(tokens_.table()), 0, 1));
  }

 private:
  Variable positions_;
  nn::Embedding tokens_;
  std::vector<nn::TransformerBlock> blocks_;
  nn::LayerNorm norm_;
  std::optional<nn::Dense> head_;
};

}  // namespace tenure::examples
