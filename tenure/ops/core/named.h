#pragma once

#include <span>
#include <string>

#include "tenure/ops/core/dispatch.h"

namespace tenure::ops {

/// Adds to an error of a call what its user needs: the line of the call, what its operands are and
/// where they were made. Nothing within a call that acts for others: that one does it.
void name_call(Error& error, const char* op, std::span<const Operand> operands, Site site) noexcept;

/// "float32[2, 3] "w" on cpu, made by relu at train.cpp:10"
std::string describe(const Tensor& tensor);

/// Runs `f`, which is a part of a public function outside its ops; errors have the name and the
/// line of the user's call.
template <class F>
decltype(auto) in_call(const char* op, Site site, const F& f) {
  try {
    return f();
  } catch (Error& error) {
    name_call(error, op, {}, site);
    throw;
  }
}

/// Throws ValueError in the name of `op` if the list is empty.
inline void require_some(const OperandList& tensors, const char* op) {
  if (!tensors.operands().empty()) [[likely]]
    return;
  in_call(op, tensors.site(), [&] { throw ValueError(std::string(op) + ": no tensors"); });
}

/// The same; the ops that it calls go under its name.
template <class F>
decltype(auto) in_name_of(const char* op, Site site, const F& f) {
  return in_call(op, site, [&]() -> decltype(auto) {
    const ActingFor acting(op);
    return f();
  });
}

}  // namespace tenure::ops
