#include "tenure/kernels/cuda/products/pieces.h"

#include <algorithm>

#include "tenure/base/units.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/move/move.h"
#include "tenure/kernels/cuda/places/nest.h"
#include "tenure/kernels/cuda/products/even_product.h"
#include "tenure/kernels/cuda/products/pieces_arguments.h"

namespace tenure::kernels::cuda {
namespace {

constexpr std::uint32_t kPieceThreads = 256;
constexpr std::int64_t kElement = 2;      // bytes
constexpr std::int64_t kRowElements = 8;  // of 16 bytes
constexpr std::int64_t kMostCopied = 48 * MiB;

const TypedKernel kCopyPiece{"tenure/kernels/cuda/products/pieces.cu",
                             "copy_piece",
                             "PieceArguments",
                             kPieceThreads,
                             {Types()}};

bool is_aligned(std::int64_t step) { return step % kRowElements == 0; }

std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

/// Bytes of a matrix in the workspace, where the next one may begin.
std::size_t room_for(std::int64_t elements, std::int64_t size) {
  return static_cast<std::size_t>(round_up(elements * size, 256));
}

/// How long the axis is that is cut.
template <class Plan>
auto& whole_of(Plan& plan, PieceCut::Axis axis) {
  return axis == PieceCut::Axis::m ? plan.m : axis == PieceCut::Axis::n ? plan.n : plan.k;
}

/// Rows of a matrix, `columns` of them from `from` on, as rows of `to_row` elements.
void copy_piece(Gpu& gpu, const void* from, std::int64_t from_row, void* to, std::int64_t to_row,
                std::int64_t rows, std::int64_t columns, std::int64_t filled) {
  constexpr std::int64_t kMostBlocks = 65535;
  Grid grid{.blocks = static_cast<std::uint32_t>((filled + kPieceThreads - 1) / kPieceThreads),
            .threads = kPieceThreads};
  grid.blocks_y = static_cast<std::uint32_t>(
      std::min<std::int64_t>((rows + kPieceRows - 1) / kPieceRows, kMostBlocks));
  gpu.launch("matmul", kCopyPiece, Types(), grid,
             PieceArguments{.from = from,
                            .to = to,
                            .rows = rows,
                            .columns = columns,
                            .filled = filled,
                            .from_row = from_row,
                            .to_row = to_row});
}

const std::byte* element(const void* data, std::int64_t at) {
  return static_cast<const std::byte*>(data) + at * kElement;
}

/// What a piece is a product of: a plan of aligned rows, and where these begin.
struct Piece {
  ProductPlan plan;
  const void* a;
  const void* b;
};

/// Places in the workspace, one behind the other.
struct Rooms {
  std::byte* a;
  std::byte* b;
  std::byte* result;
  std::span<std::byte> rest;

  Rooms(const PieceCut& cut, const ProductPlan& plan, std::span<std::byte> workspace)
      : a(workspace.data()),
        b(a + cut.a_bytes(plan)),
        result(b + cut.b_bytes(plan)),
        rest(workspace.subspan(
            static_cast<std::size_t>(result + cut.result_bytes(plan) - workspace.data()))) {}
};

/// The piece from `at` on, `width` of the axis, with what is copied for it.
Piece make_piece(Gpu& gpu, const ProductPlan& whole, const PieceCut& cut, const Rooms& rooms,
                 const void* a, const void* b, std::int64_t at, std::int64_t width) {
  Piece piece{.plan = whole, .a = a, .b = b};
  ProductPlan& plan = piece.plan;
  std::int64_t filled = width;
  switch (cut.axis) {
    case PieceCut::Axis::m:
      plan.m = width;
      piece.a = element(a, at * whole.a_row);
      break;
    case PieceCut::Axis::n:
      plan.n = width;
      piece.b = element(b, at * whole.b_column);
      break;
    case PieceCut::Axis::k:
      // Zeros behind both add nothing to a sum.
      if (cut.copies_a && cut.copies_b) filled = round_up(width, kRowElements);
      plan.k = filled;
      piece.a = element(a, at * whole.a_column);
      piece.b = element(b, at * whole.b_row);
      break;
  }
  // What lies behind each other is along the axis.
  if (cut.copies_a) {
    const bool by_k = cut.axis == PieceCut::Axis::k;
    copy_piece(gpu, piece.a, by_k ? whole.a_row : whole.a_column, rooms.a, cut.size,
               by_k ? whole.m : whole.k, width, filled);
    piece.a = rooms.a;
    (by_k ? plan.a_row : plan.a_column) = cut.size;
  }
  if (cut.copies_b) {
    const bool by_k = cut.axis == PieceCut::Axis::k;
    copy_piece(gpu, piece.b, by_k ? whole.b_column : whole.b_row, rooms.b, cut.size,
               by_k ? whole.n : whole.k, width, filled);
    piece.b = rooms.b;
    (by_k ? plan.b_column : plan.b_row) = cut.size;
  }
  return piece;
}

}  // namespace

std::size_t PieceCut::a_bytes(const ProductPlan& plan) const {
  return copies_a ? room_for((axis == Axis::k ? plan.m : plan.k) * size, kElement) : 0;
}
std::size_t PieceCut::b_bytes(const ProductPlan& plan) const {
  return copies_b ? room_for((axis == Axis::k ? plan.n : plan.k) * size, kElement) : 0;
}
std::size_t PieceCut::result_bytes(const ProductPlan& plan) const {
  if (axis == Axis::k) return room_for(plan.m * plan.n, sizeof(float));
  return copies_result ? room_for(plan.m * size, kElement) : 0;
}

std::optional<PieceCut> cut_for(DType type, const ProductPlan& plan) {
  constexpr double kLarge = 4e9;
  if ((type != DType::bfloat16 && type != DType::float16) || plan.batch.rank != 0 ||
      static_cast<double>(plan.m) * static_cast<double>(plan.n) * static_cast<double>(plan.k) <
          kLarge) {
    return std::nullopt;
  }
  const bool a_by_k = plan.a_column == 1;
  const bool b_by_n = plan.b_column == 1;
  const bool a_is_off = !is_aligned(a_by_k ? plan.a_row : plan.a_column);
  const bool b_is_off = !is_aligned(b_by_n ? plan.b_row : plan.b_column);
  const bool is_off_by_m = !a_by_k && a_is_off;
  const bool is_off_by_n = (b_by_n && b_is_off) || !is_aligned(plan.c_row);
  const bool is_off_by_k = (a_by_k && a_is_off) || (!b_by_n && b_is_off);
  if (is_off_by_m + is_off_by_n + is_off_by_k != 1) return std::nullopt;

  PieceCut cut{.axis = is_off_by_m   ? PieceCut::Axis::m
                       : is_off_by_n ? PieceCut::Axis::n
                                     : PieceCut::Axis::k,
               .copies_a = a_is_off,
               .copies_b = b_is_off,
               .copies_result = is_off_by_n && !is_aligned(plan.c_row)};
  const bool is_sum = cut.axis == PieceCut::Axis::k;
  const std::int64_t copied =  // elements for each one of the axis
      (cut.copies_a ? (is_sum ? plan.m : plan.k) : 0) +
      (cut.copies_b ? (is_sum ? plan.n : plan.k) : 0) + (cut.copies_result ? plan.m : 0);
  const std::int64_t kept = is_sum ? plan.m * plan.n * static_cast<std::int64_t>(sizeof(float)) : 0;
  constexpr std::int64_t kStep = 128;
  constexpr std::int64_t kMostAtOnce = 2048;
  const std::int64_t fits = (kMostCopied - kept) / (copied * kElement) / kStep * kStep;
  cut.size = std::min({fits, kMostAtOnce, round_up(whole_of(plan, cut.axis), kStep)});
  if (cut.size < 2 * kStep) return std::nullopt;
  return cut;
}

std::size_t pieces_workspace(DType type, const PieceCut& cut, const ProductPlan& plan) {
  ProductPlan piece = plan;
  whole_of(piece, cut.axis) = cut.size;
  return cut.a_bytes(plan) + cut.b_bytes(plan) + cut.result_bytes(plan) +
         even_workspace(type, piece);
}

bool multiply_pieces(Gpu& gpu, DType type, const ProductPlan& plan, const PieceCut& cut,
                     const void* a, const void* b, void* c, std::span<std::byte> workspace) {
  const Rooms rooms(cut, plan, workspace);
  const bool is_sum = cut.axis == PieceCut::Axis::k;
  const std::int64_t whole = whole_of(plan, cut.axis);
  for (std::int64_t at = 0; at < whole; at += cut.size) {
    const std::int64_t width = std::min(cut.size, whole - at);
    const Piece piece = make_piece(gpu, plan, cut, rooms, a, b, at, width);
    LibraryProduct product{.type = type, .out = type, .plan = piece.plan};
    const std::int64_t begin = cut.axis == PieceCut::Axis::m   ? at * plan.c_row
                               : cut.axis == PieceCut::Axis::n ? at
                                                               : 0;
    auto* const own = const_cast<std::byte*>(element(c, begin));
    void* result = own;
    if (is_sum) {
      product.out = DType::float32;
      product.adds = at > 0;
      product.plan.c_row = plan.n;
      result = rooms.result;
    } else if (cut.copies_result) {
      product.plan.c_row = cut.size;
      result = rooms.result;
    }
    if (!multiply_evenly(gpu, product, piece.a, piece.b, result, rooms.rest)) return false;
    if (cut.copies_result) {
      copy_piece(gpu, result, cut.size, own, plan.c_row, plan.m, width, width);
    }
  }
  if (!is_sum) return true;
  const Shape shape{plan.m, plan.n};
  copy_elements(gpu, "matmul",
                {.dtype = DType::float32,
                 .shape = shape,
                 .strides = contiguous_strides(shape),
                 .data = rooms.result},
                {.dtype = type, .shape = shape, .strides = {plan.c_row, 1}, .data = c});
  return true;
}

const TypedKernel& piece_kernel() { return kCopyPiece; }

}  // namespace tenure::kernels::cuda
