#pragma once

#include <array>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "python/src/core/errors.h"
#include "python/src/core/sites.h"
#include "python/src/ops/convert.h"
#include "python/src/tensor/object.h"

namespace tenure::python {

class Arguments;

struct Parameter {
  const char* name;
  bool is_required;
  bool is_keyword_only;
  bool (*fits)(PyObject*) noexcept;
};
struct Overload {
  std::span<const Parameter> parameters;
  PyObject* (*call)(Arguments&);
};
/// A public function of tenure/ops/, as the generated tables have it.
struct Function {
  const char* name;
  const char* signature;  ///< as Python writes it: "(x, axis=-1)"
  const char* doc;        ///< of its declaration, else empty
  const char* group;      ///< that of the declarations above it, where it has none of its own
  std::span<const Overload> overloads;
  bool is_method;  ///< of its first argument, a tensor
};

/// The arguments of one call, by the order of the overload's parameters; null: not given.
class Arguments {
 public:
  static constexpr int kMax = 16;

  Arguments(const Function& function, Site site) : function_(function), site_(site) {}
  /// Gives back what was donated and not used up.
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  /// How an overload is tried: by the types of what is given, by their number and names alone, or
  /// as the one that is meant.
  enum class Trial { types, names, none };

  /// Puts them in their places. Returns false if they are not those of the overload; without a
  /// trial that is a TypeError.
  bool bind(const Overload& overload, PyObject* const* arguments, Py_ssize_t positional,
            PyObject* keywords, Trial trial);

  Site site() const { return site_; }
  bool has(int i) const { return places_[static_cast<std::size_t>(i)] != nullptr; }

  template <class T>
  T get(int i) {
    if constexpr (std::is_same_v<T, Operand>) {
      return operand(i);
    } else if constexpr (std::is_same_v<T, OperandList>) {
      return operands(i);
    } else {
      return From<T>::of(*places_[static_cast<std::size_t>(i)], name(i));
    }
  }
  template <class T>
  T get(int i, const T& fallback) {
    return has(i) ? get<T>(i) : fallback;
  }
  /// A field of an options struct, which has its default.
  template <class T>
  void into(int i, T& field) {
    if (has(i)) field = get<T>(i);
  }

  /// Calls the library, without the interpreter's lock if there is enough to compute.
  template <class F>
  auto run(const F& f) const {
    if (!is_large_ || borrows_) return f();
    const WithoutLock unlocked;
    return f();
  }

 private:
  /// From here on the lock is let go: to let it go and take it again is 1 % of such an op.
  static constexpr std::size_t kBytesWithoutLock = 64 * 1024;

  // Note: operands without the lock
  //
  // The handle in a Python object is changed by x += 1 and by donate(x), on any thread that has the
  // interpreter's lock. A call that lets it go has handles of its own, but for temporaries, which
  // nobody else can reach.
  Operand operand(int i);
  OperandList operands(int i);
  Operand own(Tensor tensor);
  Operand donation(PyObject* object);
  /// `reshape(x, 2, 3)` and `zeros(2, 3)` for lists: makes one of what stands alone, and puts it in
  /// its place. Returns how many arguments it took, from `first` on.
  Py_ssize_t gather(PyObject* const* arguments, Py_ssize_t positional, Py_ssize_t& first);
  void measure();
  const char* name(int i);

  struct Lent {
    PyObject* owner;
    Tensor* tensor;
  };

  const Function& function_;
  Site site_;
  std::span<const Parameter> parameters_;
  std::array<PyObject* const*, kMax> places_;  // undefined past the parameters
  bool is_large_ = false;
  bool borrows_ = false;                    // handles of Python objects
  std::optional<std::deque<Tensor>> made_;  // handles of this call's own
  std::vector<Lent> donations_;
  std::optional<std::deque<std::vector<Tensor>>> lists_;
  std::string what_;
  Ref gathered_;
  PyObject* gathered_place_ = nullptr;
};

// Results as Python has them.
inline PyObject* give(Tensor tensor) { return wrap(std::move(tensor)).release(); }
PyObject* give(std::span<Tensor> tensors);
inline PyObject* give(std::vector<Tensor> tensors) { return give(std::span(tensors)); }
template <std::size_t n>
PyObject* give(std::array<Tensor, n> tensors) {
  return give(std::span(tensors));
}
/// A tuple with names for its parts, which are taken over.
PyObject* give_named(const char* type, std::initializer_list<const char*> names,
                     std::initializer_list<PyObject*> parts);

/// Makes the Python functions of the tables and adds them to the module and, where they take a
/// tensor first, to the methods of Tensor. In function.cpp.
void add_functions(PyObject* module);

/// In the generated sources.
std::vector<std::span<const Function>> all_functions();

}  // namespace tenure::python
