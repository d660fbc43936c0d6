#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

#include "tenure/memory/default_device.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/core/types.h"
#include "tenure/ops/creation.h"
#include "tenure/tensor/host.h"
#include "tenure/tensor/pending.h"

namespace tenure {
namespace {

std::string describe(const NestedList& node) {
  return node.is_list() ? fmt::format("a list of {}", node.items().size()) : "a number";
}

/// Walks the lists in row-major order; knows at each moment where it is.
class ListReader {
 public:
  explicit ListReader(const NestedList& root) {
    for (const NestedList* node = &root; node->is_list(); node = node->items().data()) {
      shape_.push_back(static_cast<std::int64_t>(node->items().size()));
      if (node->items().empty()) break;
    }
    place_ = Dims::filled(shape_.size(), 0);
    check(root, 0);
  }

  const Shape& shape() const { return shape_; }
  DType dtype() const { return any_ ? widest_.dtype() : DType::float32; }

  template <class F>
  void for_each(const NestedList& node, const F& f) const {
    if (!node.is_list()) return f(node.number());
    for (const NestedList& item : node.items()) for_each(item, f);
  }

 private:
  /// The first items on the way down gave the shape; everything else must agree.
  void check(const NestedList& node, int depth) {
    const bool fits = node.is_list()
                          ? depth < shape_.size() &&
                                static_cast<std::int64_t>(node.items().size()) == shape_[depth]
                          : depth == shape_.size();
    if (!fits) {
      Dims at;
      for (int i = 0; i < depth; ++i) at.push_back(place_[i]);
      throw ShapeError(
          "tensor",
          fmt::format(
              "the lists are ragged: element {} is {}, but the first one "
              "there is {}",
              to_string(at), describe(node),
              depth < shape_.size() ? fmt::format("a list of {}", shape_[depth]) : "a number"),
          {shape_.to_vector()});
    }
    if (!node.is_list()) {
      if (!any_ || node.number().kind > widest_.kind) widest_ = node.number();
      any_ = true;
      return;
    }
    std::int64_t i = 0;
    for (const NestedList& item : node.items()) {
      place_[depth] = i++;
      check(item, depth + 1);
    }
  }

  Shape shape_;
  Dims place_;
  Scalar widest_;
  bool any_ = false;
};

/// `shape`, or one axis for [-1]. Throws ShapeError unless it has `n` elements.
Shape filled_shape(std::size_t n, DType dtype, const Shape& shape) {
  const auto size = static_cast<std::int64_t>(n);
  const Shape actual = shape == Shape{-1} ? Shape{size} : shape;
  if (check_shape(actual, size_of(dtype), "tensor") != size) {
    throw ShapeError("tensor",
                     fmt::format("{} elements do not fill shape {}", n, to_string(actual)),
                     {actual.to_vector()});
  }
  return actual;
}

}  // namespace

Tensor tensor(const NestedList& values, std::optional<DType> dtype, Site site) {
  return ops::in_call("tensor", site, [&] {
    const ListReader reader(values);
    const DType type = dtype.value_or(reader.dtype());
    PendingTensor pending(mem::this_thread(), default_device(), type, reader.shape());
    HostRoom room(pending, static_cast<std::size_t>(count(reader.shape())) * size_of(type));
    auto* to = static_cast<std::byte*>(room.data());
    reader.for_each(values, [&](const Scalar& number) {
      ops::store_scalar(number, type, to, "tensor");
      to += size_of(type);
    });
    room.finish();
    return pending.finish("tensor", site);
  });
}

Tensor ops::tensor_from(const std::vector<bool>& elements, const Shape& shape, Site site) {
  return ops::in_call("tensor", site, [&] {
    const Shape filled = filled_shape(elements.size(), DType::boolean, shape);
    PendingTensor pending(mem::this_thread(), default_device(), DType::boolean, filled);
    HostRoom room(pending, elements.size());
    std::copy(elements.begin(), elements.end(), static_cast<bool*>(room.data()));
    room.finish();
    return pending.finish("tensor", site);
  });
}

Tensor ops::tensor_from(const void* elements, std::size_t n, DType dtype, const Shape& shape,
                        Site site) {
  return ops::in_call("tensor", site, [&] {
    const Shape filled = filled_shape(n, dtype, shape);
    return tensor_from_host(default_device(), elements, dtype, filled, "tensor", site);
  });
}

Tensor empty(const Shape& shape, DType dtype, Site site) {
  return ops::in_call("empty", site, [&] {
    check_shape(shape, size_of(dtype), "empty");
    return PendingTensor(mem::this_thread(), default_device(), dtype, shape).finish("empty", site);
  });
}

Tensor from_memory(void* data, const Shape& shape, DType dtype, std::size_t bytes,
                   std::function<void(void*)> deleter, Site site) {
  return ops::in_call("from_memory", site, [&] {
    const auto n = static_cast<std::size_t>(check_shape(shape, size_of(dtype), "from_memory"));
    if (bytes != n * size_of(dtype)) {
      throw ValueError(fmt::format("from_memory: {}{} has {} bytes, not {}", name_of(dtype),
                                   to_string(shape), n * size_of(dtype), bytes));
    }
    if (data == nullptr && bytes != 0) throw ValueError("from_memory: the memory is null");
    if (reinterpret_cast<std::uintptr_t>(data) % size_of(dtype) != 0) {
      throw ValueError(fmt::format("from_memory: the memory is not aligned to the {} bytes of {}",
                                   size_of(dtype), name_of(dtype)));
    }
    if (dtype == DType::boolean) {
      const auto* const first = static_cast<const std::uint8_t*>(data);
      const auto* const odd = std::find_if(first, first + n, [](std::uint8_t b) { return b > 1; });
      if (odd != first + n) {
        throw ValueError(fmt::format("from_memory: byte {} is {}; elements of bool are 0 or 1",
                                     odd - first, *odd));
      }
    }
    if (!deleter) deleter = [](void*) {};
    mem::ThreadContext& context = mem::this_thread();
    // Adoption comes last of all that can fail, so that every error leaves the memory with the
    // caller.
    void* const slot = mem::allocate_tenant(context);
    mem::Storage* storage = nullptr;
    try {
      storage = mem::Storage::adopt(context, data, bytes, std::move(deleter));
    } catch (...) {
      mem::free_tenant(context, slot);
      throw;
    }
    return Tensor::adopt(new (slot) TensorBody(
        {.context = context, .storage = storage, .op = "from_memory", .site = site}, dtype, shape));
  });
}

}  // namespace tenure
