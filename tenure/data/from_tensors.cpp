#include <fmt/format.h>

#include <utility>

#include "tenure/data/dataset.h"
#include "tenure/memory/default_device.h"
#include "tenure/memory/threads/call.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::data {
namespace {

/// A tensor of its own on the same data, outside of all scopes: it outlives what the user does with
/// the handle.
Tensor held(const Tensor& tensor, Site site) {
  TensorBody& body = tensor.body("from_tensors", site);
  const Pin pin(body, "from_tensors", site);
  pin.storage()->retain();
  return keep(make_tensor(mem::this_thread(), pin.storage(), body.dtype, body.shape, body.strides,
                          body.offset, "from_tensors", site, HolderKind::view));
}

class Tensors final : public Source {
 public:
  Tensors(std::int64_t size, Batch tensors, Site site)
      : Source(site), size_(size), tensors_(std::move(tensors)) {}

  std::int64_t size() const override { return size_; }
  Batch at(std::int64_t, std::int64_t place) const override {
    Batch element;
    for (const Tensor& tensor : tensors_) {
      element.push_back(select(Operand(tensor, site()), 0, place));
    }
    return element;
  }
  Batch rows(std::int64_t epoch, std::span<const std::int64_t> places) const override;

 private:
  std::int64_t size_;
  Batch tensors_;
};

Batch Tensors::rows(std::int64_t, std::span<const std::int64_t> places) const {
  bool are_neighbours = true;
  for (std::size_t i = 1; i < places.size(); ++i) {
    are_neighbours = are_neighbours && places[i] == places[i - 1] + 1;
  }
  Batch batch;
  if (are_neighbours) {
    for (const Tensor& tensor : tensors_) {
      batch.push_back(slice(Operand(tensor, site()), 0, places.front(), places.back() + 1));
    }
    return batch;
  }
  const DeviceScope device(tensors_[0].device());
  const Tensor indices = tensor(places, {-1}, site());
  for (const Tensor& tensor : tensors_) {
    batch.push_back(tenure::take(Operand(tensor, site()), Operand(indices, site())));
  }
  return batch;
}

class Function final : public Source {
 public:
  Function(std::int64_t size, std::function<Batch(std::int64_t)> f, Site site)
      : Source(site), size_(size), f_(std::move(f)) {}

  std::int64_t size() const override { return size_; }
  Batch at(std::int64_t, std::int64_t place) const override { return f_(place); }

 private:
  std::int64_t size_;
  std::function<Batch(std::int64_t)> f_;
};

}  // namespace

Dataset from_tensors(const std::vector<Tensor>& tensors, Site site) try {
  if (tensors.empty()) throw ValueError("from_tensors: there is no tensor");
  ShapeError::Shapes shapes;
  Batch held_tensors;
  bool fit = true;
  for (const Tensor& tensor : tensors) {
    held_tensors.push_back(held(tensor, site));
    const Shape& shape = tensor.shape(site);
    shapes.push_back(shape.to_vector());
    fit = fit && !shape.empty() && shapes[0][0] == shape[0];
  }
  if (!fit) {
    std::string text;
    for (const auto& shape : shapes) {
      text += (text.empty() ? "" : ", ") + to_string(Shape(std::span(shape)));
    }
    throw ShapeError("from_tensors", "the first axes of all tensors must have one size: " + text,
                     shapes);
  }
  return Dataset(std::make_shared<Tensors>(shapes[0][0], std::move(held_tensors), site));
} catch (Error& error) {
  mem::name_call(error, "from_tensors", site);
  throw;
}

Dataset from_function(std::int64_t n, std::function<Batch(std::int64_t)> f, Site site) try {
  if (n < 0) throw ValueError(fmt::format("from_function: {} elements is negative", n));
  if (f == nullptr) throw ValueError("from_function: there is no function");
  return Dataset(std::make_shared<Function>(n, std::move(f), site));
} catch (Error& error) {
  mem::name_call(error, "from_function", site);
  throw;
}

}  // namespace tenure::data
