#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "tenure/tensor/host.h"
#include "tenure/tensor/tensor.h"

namespace tenure {
namespace {

constexpr std::int64_t kShowAll = 1000;  // elements; larger tensors are shortened
constexpr std::int64_t kEdge = 3;        // elements shown at each end of a shortened dimension

std::string format_element(DType dtype, const void* data, std::int64_t offset) {
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) -> std::string {
    const T value = static_cast<const T*>(data)[offset];
    if constexpr (std::is_same_v<T, bool>) {
      return value ? "true" : "false";
    } else if constexpr (std::is_integral_v<T>) {
      return fmt::format("{}", static_cast<std::int64_t>(value));
    } else {
      const auto number = static_cast<double>(value);
      if (std::isnan(number)) return "nan";  // whatever its sign
      if (std::isfinite(number) && number == std::floor(number) && std::abs(number) < 1e6) {
        return fmt::format("{:.0f}.", number);
      }
      std::string text = fmt::format("{:.5g}", number);
      const bool looks_integral = text.find_first_not_of("-0123456789") == std::string::npos;
      return looks_integral ? text + "." : text;  // 0.99999994 is 1. here
    }
  });
}

class Printer {
 public:
  Printer(const TensorBody& body, const void* data) : body_(body), data_(data) {
    shorten_ = count(body.shape) > kShowAll;
    if (count(body.shape) == 0) return;  // however many empty rows there are
    visit(0, 0, [this](std::int64_t offset) {
      width_ = std::max(width_, format_element(body_.dtype, data_, offset).size());
    });
  }

  std::string text() {
    if (count(body_.shape) == 0) return "[]";
    print(0, 0);
    return std::move(text_);
  }

 private:
  bool skips(int axis) const { return shorten_ && body_.shape[axis] > 2 * kEdge; }

  template <class F>
  void visit(int axis, std::int64_t offset, const F& f) {
    if (axis == body_.shape.size()) return f(offset);
    const std::int64_t n = body_.shape[axis];
    for (std::int64_t i = 0; i < n; ++i) {
      if (skips(axis) && i == kEdge) i = n - kEdge;
      visit(axis + 1, offset + i * body_.strides[axis], f);
    }
  }

  void print(int axis, std::int64_t offset) {
    const int rank = body_.shape.size();
    if (axis == rank) {
      text_ += fmt::format("{:>{}}", format_element(body_.dtype, data_, offset), width_);
      return;
    }
    const std::int64_t n = body_.shape[axis];
    const bool innermost = axis == rank - 1;
    std::string between = ",";
    between.append(static_cast<std::size_t>(rank - 1 - axis), '\n');
    between.append(innermost ? 1 : static_cast<std::size_t>(axis) + 1, ' ');
    text_ += '[';
    for (std::int64_t i = 0; i < n; ++i) {
      if (i > 0) text_ += between;
      if (skips(axis) && i == kEdge) {
        text_ += "...";
        text_ += between;
        i = n - kEdge;
      }
      print(axis + 1, offset + i * body_.strides[axis]);
    }
    text_ += ']';
  }

  const TensorBody& body_;
  const void* data_;
  bool shorten_;
  std::size_t width_ = 0;
  std::string text_;
};

}  // namespace

std::string to_string(const Tensor& tensor) {
  if (!tensor.defined()) return "empty tensor handle";
  TensorBody& body = *tensor.body_or_null();
  const std::string head = fmt::format("{}{}", name_of(body.dtype), to_string(body.shape));
  if (const Symbol* const symbol = body.symbol()) {
    return fmt::format("{}, {}", head, symbol->describe());
  }
  Pin pin;
  if (!pin.try_take(body)) {
    return fmt::format("{} disposed at {}", head, to_string(body.disposed()));
  }
  return Printer(body, HostElements(pin).data()).text() + " " + head;
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << to_string(tensor);
}

}  // namespace tenure
