#pragma once

#include <cstdint>

#include "tenure/kernels/cpu/linalg/matrix.h"

namespace tenure::kernels::linalg {

/// Columns that are eliminated one after the other.
inline constexpr std::int64_t kPanel = 8;

/// Numbers that a panel of so many rows is worked on in.
template <class T>
std::int64_t lu_panel_room(std::int64_t rows);

/// P a = L U of up to kPanel columns, of at least as many rows: row i was swapped with row
/// pivots[i], in order. -1, or the first pivot that is zero. In lu_panel.cpp.
template <class T>
std::int64_t lu_panel(const Matrix<T>& a, std::int64_t* pivots, T* room);

}  // namespace tenure::kernels::linalg
