#pragma once

// The places of the attributes of each op, in the order of its signature.

namespace tenure::ops {

/// Of take and gather.
struct AlongAxisAttributes {
  enum : int { axis };
};
struct ScatterAttributes {
  enum : int { axis, mode };
};

/// A part of x by basic indices, then where new axes go (index_view) or which axes of the part are
/// chosen along (index_update, index_add).
struct IndexPartAttributes {
  enum : int { starts, counts, steps, axes };
};
struct IndexGatherAttributes {
  enum : int { axes };
};
struct PadAttributes {
  enum : int { before, after, mode, value };
};
struct TileAttributes {
  enum : int { times };
};
struct RepeatAttributes {
  enum : int { times, axis };
};
struct RollAttributes {
  enum : int { shifts, axes };
};

struct WithinAttributes {
  enum : int { low, high, is_index, op, subject };
};

/// Of tril and triu.
struct TriangleAttributes {
  enum : int { diagonal };
};

}  // namespace tenure::ops
