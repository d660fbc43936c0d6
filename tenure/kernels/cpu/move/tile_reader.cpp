#include "tenure/kernels/cpu/move/tile_reader.h"

#include <algorithm>
#include <cstring>

namespace tenure::kernels {

TileReader::TileReader(const View& view, const Shape& shape)
    : data_(view.as<const std::byte>()), element_size_(size_of(view.dtype)) {
  const Strides strides = broadcast_strides(view.shape, view.strides, shape);
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    const int last = shape_.size() - 1;
    if (last >= 0 && strides_[last] == strides[i] * shape[i]) {
      shape_[last] *= shape[i];
      strides_[last] = strides[i];
    } else {
      shape_.push_back(shape[i]);
      strides_.push_back(strides[i]);
    }
  }
  const int rank = shape_.size();
  if (rank == 0 || (rank == 1 && strides_[0] == 0)) {
    layout_ = Layout::repeated;
  } else if (rank == 1 && strides_[0] == 1) {
    layout_ = Layout::contiguous;
  } else {
    layout_ = Layout::strided;
  }
  position_ = Dims::filled(rank, 0);
}

void TileReader::seek(std::int64_t index) {
  offset_ = 0;
  for (int axis = shape_.size() - 1; axis >= 0; --axis) {
    position_[axis] = index % shape_[axis];
    index /= shape_[axis];
    offset_ += position_[axis] * strides_[axis];
  }
}

template <class Unit>
void TileReader::read_units(Unit* tile, std::size_t n) {
  const auto* const data = reinterpret_cast<const Unit*>(data_);
  const int inner = shape_.size() - 1;
  if (inner < 0) {
    std::fill_n(tile, n, *data);
    return;
  }
  const std::int64_t stride = strides_[inner];
  while (n > 0) {
    const std::int64_t run =
        std::min<std::int64_t>(static_cast<std::int64_t>(n), shape_[inner] - position_[inner]);
    const Unit* from = data + offset_;
    if (stride == 1) {
      std::memcpy(tile, from, static_cast<std::size_t>(run) * sizeof(Unit));
    } else if (stride == 0) {
      std::fill_n(tile, run, *from);
    } else {
      for (std::int64_t i = 0; i < run; ++i) tile[i] = from[i * stride];
    }
    tile += run;
    n -= static_cast<std::size_t>(run);
    position_[inner] += run;
    offset_ += run * stride;
    for (int axis = inner; axis >= 0 && position_[axis] == shape_[axis]; --axis) {
      position_[axis] = 0;
      offset_ -= strides_[axis] * shape_[axis];
      if (axis == 0) break;
      ++position_[axis - 1];
      offset_ += strides_[axis - 1];
    }
  }
}

void TileReader::read(void* tile, std::size_t n) {
  switch (element_size_) {
    case 1:
      return read_units(static_cast<std::uint8_t*>(tile), n);
    case 2:
      return read_units(static_cast<std::uint16_t*>(tile), n);
    case 4:
      return read_units(static_cast<std::uint32_t*>(tile), n);
    default:
      return read_units(static_cast<std::uint64_t*>(tile), n);
  }
}

}  // namespace tenure::kernels
