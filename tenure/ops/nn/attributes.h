#pragma once

// The places of the attributes of each op, in the order of its signature.

namespace tenure::ops {

/// Of layer_norm, rms_norm and their gradients: how many dimensions, and epsilon.
struct RowNormAttributes {
  enum : int { dims, epsilon };
};
struct BatchNormAttributes {
  enum : int { epsilon };
};
struct CrossEntropyAttributes {
  enum : int { label_smoothing, ignore_index, reduction };
};
struct ClassValuesAttributes {
  enum : int { ignore_index };
};
struct NllAttributes {
  enum : int { ignore_index, reduction };
};
struct CosineSimilarityAttributes {
  enum : int { axis, epsilon };
};
struct CosineLossAttributes {
  enum : int { margin, reduction };
};
struct TripletAttributes {
  enum : int { margin, order, epsilon, swap, reduction };
};
struct CtcAttributes {
  enum : int { blank, zero_infinity, reduction };
};
struct AttentionAttributes {
  enum : int { causal, has_scale, scale };
};

}  // namespace tenure::ops
