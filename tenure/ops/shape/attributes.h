#pragma once

// The places of the attributes of each op, in the order of its signature.

namespace tenure::ops {

struct ReshapeAttributes {
  enum : int { shape };
};
struct FlattenAttributes {
  enum : int { first, last };
};
struct CastAttributes {
  enum : int { dtype };
};
struct TransposeAttributes {
  enum : int { axis_a, axis_b };
};
struct PermuteAttributes {
  enum : int { order };
};
struct SqueezeAttributes {
  enum : int { axes };
};
struct ExpandDimsAttributes {
  enum : int { axis };
};
struct BroadcastToAttributes {
  enum : int { shape };
};
struct SliceAttributes {
  enum : int { axis, start, stop, step };
};
struct SplitAttributes {
  enum : int { axis, start, size };
};
struct SelectAttributes {
  enum : int { axis, index };
};
struct MeshgridAttributes {
  enum : int { axis };
};
struct MoveAxisAttributes {
  enum : int { source, destination };
};
struct UnfoldAttributes {
  enum : int { axis, size, step };
};
struct DiagonalAttributes {
  enum : int { axis_a, axis_b, k };
};
struct DiagAttributes {
  enum : int { k };
};
struct DiffAttributes {
  enum : int { times, axis };
};
/// Of pixel_shuffle and its reverse.
struct ShuffleAttributes {
  enum : int { factor };
};
struct FlipAttributes {
  enum : int { axes };
};

/// Of concat and stack.
struct JoinAttributes {
  enum : int { axis };
};
struct DimAttributes {
  enum : int { axis };
};
struct WithSizesAttributes {
  enum : int { function, numbers };
};

}  // namespace tenure::ops
