#pragma once

#include <span>
#include <string>
#include <vector>

#include "tenure/ops/core/operand.h"
#include "tenure/ops/core/record.h"

namespace tenure::check {

/// The elements of an input, each exactly representable in its type.
struct Input {
  DType dtype = DType::float32;
  Shape shape{};
  std::vector<long double> values{};
  bool is_random = true;  ///< the sample does not insist on these values
};

/// One call of an op: a sample of its record in one element type.
struct Case {
  const ops::OpRecord* op = nullptr;
  std::string sample{};  ///< which one, for messages
  std::vector<Input> inputs{};
  ops::Attributes attributes{};
};

/// Every sample in every element type that the record takes, without those whose range has no
/// element of the type. The same values in every run.
std::vector<Case> cases_of(const ops::OpRecord& op);
/// The same, for checks that make each call many times: where types are taken in turn, each sample
/// in one type, the next one in the next. Their elements are checked in all.
std::vector<Case> repeated_cases_of(const ops::OpRecord& op);
/// For a process where every call takes long: on another device, or sanitized.
void take_types_in_turn();
std::string describe(const Case& c);

/// What the record's reference says.
std::vector<ops::Reference> expected_of(const Case& c);

/// The attributes that a kernel gets with such inputs; see ops/core/prepare.h.
ops::Attributes kernel_attributes(const Case& c, std::span<const ops::View> in);
/// How many outputs the call has.
std::size_t output_count(const Case& c);

/// Runs the op.
std::vector<Tensor> run(const Case& c, std::span<const Operand> operands);
std::vector<Tensor> run(const Case& c, std::span<const Operand> operands, Site site);
/// Runs it with tensors that it only reads.
std::vector<Tensor> run(const Case& c, const std::vector<Tensor>& inputs);

/// Where the elements of a tensor lie in its storage.
enum class LayoutKind {
  contiguous,
  transposed,   ///< first axis fastest
  stepped,      ///< every second element along every axis, behind an offset
  reversed,     ///< negative strides
  first_still,  ///< stride 0 along the first axis
  last_still,   ///< stride 0 along the last axis
  still,        ///< stride 0 along all axes
};
inline constexpr LayoutKind kStridedLayouts[] = {LayoutKind::transposed, LayoutKind::stepped,
                                                 LayoutKind::reversed,   LayoutKind::first_still,
                                                 LayoutKind::last_still, LayoutKind::still};
const char* name_of(LayoutKind layout);

/// `input` with equal elements along the axes that the layout does not move along.
Input suited(const Input& input, LayoutKind layout);
/// A new tensor; `input` is suited to the layout.
Tensor make(const Input& input, LayoutKind layout = LayoutKind::contiguous);
std::vector<Tensor> make_all(const Case& c, LayoutKind layout = LayoutKind::contiguous);

}  // namespace tenure::check
