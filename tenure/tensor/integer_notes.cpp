#include "tenure/tensor/integer_notes.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>

namespace tenure {
namespace {

/// The last note of the tensors whose ids have one remainder. Nobody waits for it: who finds it in
/// use does without.
class Place {
 public:
  void write(std::uint64_t id, const IntegerRange& range) noexcept {
    if (in_use_.exchange(true, std::memory_order_acquire)) return;
    id_ = id;
    range_ = range;
    in_use_.store(false, std::memory_order_release);
  }
  std::optional<IntegerRange> read(std::uint64_t id) noexcept {
    if (in_use_.exchange(true, std::memory_order_acquire)) return std::nullopt;
    const std::optional<IntegerRange> found =
        id_ == id ? std::optional(range_) : std::optional<IntegerRange>();
    in_use_.store(false, std::memory_order_release);
    return found;
  }

 private:
  std::atomic<bool> in_use_ = false;
  std::uint64_t id_ = 0;  // no tensor's
  IntegerRange range_ = IntegerRange::none();
};

constinit std::array<Place, 512> places{};

Place& place_of(std::uint64_t id) { return places[id % places.size()]; }

}  // namespace

void note_integers(const TensorBody& body, const IntegerRange& range) noexcept {
  place_of(body.id()).write(body.id(), range);
}

std::optional<IntegerRange> noted_integers(const Pin& pin) noexcept {
  const TensorBody& body = *pin.body();
  if (body.kind() == HolderKind::variable || pin.storage()->last_write() != 0) return std::nullopt;
  return place_of(body.id()).read(body.id());
}

std::optional<IntegerRange> seen_integers(const void* elements, DType dtype, std::int64_t n) {
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  if (n > kMost || (dtype != DType::int32 && dtype != DType::int64)) return std::nullopt;
  IntegerRange range = IntegerRange::none();
  const auto look = [&]<class T>(TypeTag<T>) {
    const auto* const bytes = static_cast<const std::byte*>(elements);
    for (std::int64_t i = 0; i < n; ++i) {
      T value;  // what somebody else lends may begin anywhere
      std::memcpy(&value, bytes + i * std::int64_t{sizeof value}, sizeof value);
      range.add(value);
    }
  };
  if (dtype == DType::int32) {
    look(TypeTag<std::int32_t>());
  } else {
    look(TypeTag<std::int64_t>());
  }
  return range;
}

std::optional<IntegerRange> seen_integers(const Tensor& tensor) {
  TensorBody* const body = tensor.body_or_null();
  if (body == nullptr || body->symbol() != nullptr || body->device() != cpu || !body->contiguous) {
    return std::nullopt;
  }
  Pin pin;
  if (!pin.try_take(*body)) return std::nullopt;
  return seen_integers(pin.data(), body->dtype, count(body->shape));
}

}  // namespace tenure
