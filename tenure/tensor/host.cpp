#include "tenure/tensor/host.h"

#include <cstring>

#include "tenure/memory/scope.h"
#include "tenure/tensor/integer_notes.h"

namespace tenure {

HostMemory::HostMemory(std::size_t bytes) {
  mem::ThreadContext& context = mem::this_thread();
  const mem::CategoryGuard category(context, Category::workspace);
  storage_ = mem::Storage::allocate(context, cpu, bytes);
}

void HostElements::fetch(const Pin& pin) {
  const TensorBody& body = *pin.body();
  data_ = nullptr;
  if (count(body.shape) == 0) return;
  // From the lowest element to the highest: a view that repeats elements has few.
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (int axis = 0; axis < body.shape.size(); ++axis) {
    const std::int64_t reach = (body.shape[axis] - 1) * body.strides[axis];
    (reach < 0 ? low : high) += reach;
  }
  const auto size = static_cast<std::int64_t>(size_of(body.dtype));
  const auto bytes = static_cast<std::size_t>((high - low + 1) * size);
  if (bytes > one_.size()) copy_ = HostMemory(bytes);
  std::byte* const copy = bytes > one_.size() ? copy_.data() : one_.data();
  read_from_device(body.device(), copy, static_cast<const std::byte*>(pin.data()) + low * size,
                   bytes);
  data_ = copy - low * size;
}

HostRoom::HostRoom(PendingTensor& pending, std::size_t bytes)
    : pending_(pending), bytes_(bytes), data_(pending.data()) {
  if (pending.device() == cpu) return;
  memory_ = HostMemory(bytes);
  data_ = memory_.data();
}

void HostRoom::finish() {
  if (pending_.device() == cpu || bytes_ == 0) return;
  write_to_device(pending_.device(), pending_.data(), data_, bytes_);
}

Tensor tensor_from_host(Device device, const void* elements, DType dtype, const Shape& shape,
                        const char* op, Site site) {
  PendingTensor pending(mem::this_thread(), device, dtype, shape);
  std::optional<IntegerRange> range;
  const std::size_t bytes = static_cast<std::size_t>(count(shape)) * size_of(dtype);
  if (bytes != 0) {
    if (device == cpu) {
      std::memcpy(pending.data(), elements, bytes);
    } else {
      write_to_device(device, pending.data(), elements, bytes);
      range = seen_integers(elements, dtype, count(shape));
    }
  }
  Tensor made = pending.finish(op, site);
  if (range) note_integers(*made.body_or_null(), *range);
  return made;
}

}  // namespace tenure
