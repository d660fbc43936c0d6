#include "tenure/kernels/cuda/launch/part_order.h"

#include <algorithm>
#include <functional>

namespace tenure::kernels::cuda {

PartOrder::Pieces::iterator PartOrder::cut(std::uintptr_t at) {
  const auto next = memory_.lower_bound(at);
  if (next == memory_.begin() || (next != memory_.end() && next->first == at)) return next;
  Piece& piece = std::prev(next)->second;
  if (piece.end <= at) return next;
  Piece rest = piece;
  piece.end = at;
  return memory_.emplace_hint(next, at, std::move(rest));
}

void PartOrder::touch(const ops::Touched& touched, std::size_t part) {
  if (touched.bytes == 0) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(touched.begin);
  const std::uintptr_t end = begin + touched.bytes;
  const auto first = cut(begin);
  const auto last = cut(end);
  for (auto piece = first; piece != last; ++piece) {
    if (piece->second.writer != kNobody) found_.push_back(piece->second.writer);
    if (!touched.is_written) continue;
    const std::vector<std::size_t>& readers = piece->second.readers;
    found_.insert(found_.end(), readers.begin(), readers.end());
  }
  if (touched.is_written) {
    memory_.erase(first, last);
    memory_[begin] = {.end = end, .writer = part, .readers = {}};
    return;
  }
  std::uintptr_t at = begin;
  for (auto piece = first; piece != last; ++piece) {
    if (at < piece->first) memory_[at] = {.end = piece->first, .readers = {part}};
    piece->second.readers.push_back(part);
    at = piece->second.end;
  }
  if (at < end) memory_[at] = {.end = end, .readers = {part}};
}

bool PartOrder::comes_before(std::size_t part, std::size_t later) const {
  const std::vector<std::uint64_t>& bits = before_[later];
  return part / 64 < bits.size() && (bits[part / 64] >> part % 64 & 1) != 0;
}

void PartOrder::keep_last() {
  std::sort(found_.begin(), found_.end(), std::greater<>());
  found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
  std::size_t kept = 0;
  for (const std::size_t part : found_) {
    const auto is_known = [&](std::size_t later) { return comes_before(part, later); };
    const auto end = found_.begin() + static_cast<std::ptrdiff_t>(kept);
    if (std::none_of(found_.begin(), end, is_known)) found_[kept++] = part;
  }
  found_.resize(kept);
}

std::span<const std::size_t> PartOrder::add(std::span<const ops::Touched> touched) {
  const std::size_t part = before_.size();
  found_.clear();
  // What it reads first: it may write there.
  for (const bool is_written : {false, true}) {
    for (const ops::Touched& one : touched) {
      if (one.is_written == is_written) touch(one, part);
    }
  }
  std::erase(found_, part);
  keep_last();
  std::vector<std::uint64_t> bits((part + 63) / 64);
  for (const std::size_t earlier : found_) {
    std::transform(before_[earlier].begin(), before_[earlier].end(), bits.begin(), bits.begin(),
                   std::bit_or<>());
    bits[earlier / 64] |= std::uint64_t{1} << earlier % 64;
  }
  before_.push_back(std::move(bits));
  return found_;
}

}  // namespace tenure::kernels::cuda
