#pragma once

#include "tenure/kernels/cuda/device/view_arguments.h"
#include "tenure/kernels/cuda/places/places_arguments.h"

namespace tenure::kernels::cuda {

/// An axis along which a tensor of indices chooses; negative ones count from its end.
struct ChosenAxis {
  const void* indices;
  std::int64_t is_wide;  ///< they are int64, not int32
  std::int64_t size;
  std::int64_t stride;
};

/// Places of a tensor that tensors of indices choose.
struct Chosen {
  Places positions;  ///< of the tensor, then of each tensor of indices, then of what is put there
  std::int64_t axes;
  ChosenAxis axis[kMaxDims];
};

/// Of elements that are chosen, into what lies behind each other.
struct ChooseArguments {
  Chosen from;
  const void* in;
  void* out;
};

/// Of the number of the place that each position chooses: equal numbers are equal places.
struct TargetArguments {
  Chosen of;
  void* targets;
};

/// The same of few positions, which are put in the order of their targets.
struct RankArguments {
  Chosen of;
  void* targets;         ///< in ascending order
  std::uint32_t* order;  ///< the positions in that order
};
/// Positions of a block.
inline constexpr int kRankedByBlock = 32;

/// Of values that are put to chosen places, or added to what is there, ...: a block of elements for
/// each position.
struct CombineArguments {
  Chosen to;
  Places block;       ///< of the tensor, of the values
  std::int64_t mode;  ///< ScatterMode as a number
  void* out;
  const void* values;
  const void* targets;         ///< in ascending order; null: positions choose different places
  std::int64_t wide_targets;   ///< they are of 64 bits, not of 32
  const std::uint32_t* order;  ///< the positions in the order of their targets
  std::int64_t target_step;    ///< places are targets times it; 0: they are not
  std::int64_t is_packed;      ///< the block consists of strips of 16 bytes, in both
};

/// Of a search for the first index outside its axis.
struct IndexCheckArguments {
  DeviceView in;
  std::int64_t size;
  std::uint64_t* answers;  ///< of each block, the lowest place that it found, or all bits
};

/// Of elements that are true: of which some bit of `bits` is set.
struct MaskArguments {
  Places places;  ///< of the elements that are asked, and of those that are selected
  std::uint64_t bits;
  const void* mask;
  const void* in;
  void* out;
  std::int64_t chunk;           ///< elements of a block
  std::uint64_t* answers;       ///< of each block, how many are true
  const std::uint64_t* before;  ///< of each block, those of the blocks before it
  std::int64_t rank;            ///< of coordinates
  std::int64_t shape[kMaxDims];
};

}  // namespace tenure::kernels::cuda
