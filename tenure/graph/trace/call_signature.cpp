#include "tenure/graph/trace/call_signature.h"

#include <fmt/format.h>

#include "tenure/memory/default_device.h"
#include "tenure/ops/core/call_context.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/shape/meet.h"
#include "tenure/tensor/device_error.h"

namespace tenure::graph {

std::string text_of(const FunctionCore::Call& call, const std::vector<bool>& donated) {
  std::string text;
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    const Tensor& tensor = call.tensors[i];
    text += fmt::format("{}{}{}{}{}", text.empty() ? "" : ", ", name_of(tensor.dtype()),
                        to_string(tensor.shape()), given_strides(tensor).empty() ? "" : " strided",
                        !donated.empty() && donated[i] ? " donated" : "");
  }
  for (const double number : call.numbers) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", number);
  }
  return text.empty() ? "no arguments" : text;
}

Device device_of(const FunctionCore::Call& call) {
  if (call.tensors.empty()) return default_device();
  if (const std::optional<Device> place = ops::meeting_place(call.tensors)) return *place;
  const Tensor& first = call.tensors[0];
  for (const Tensor& tensor : call.tensors) {
    if (tensor.device() == first.device()) continue;
    DeviceError error("function", first.device(), tensor.device());
    for (const Tensor* const one : {&first, &tensor}) {
      error.add_line(fmt::format("one of its tensors is {}", ops::describe(*one)));
    }
    throw error;
  }
  return first.device();
}

std::vector<ops::Spec> specs_of(const FunctionCore::Call& call) {
  std::vector<ops::Spec> specs;
  for (const Tensor& tensor : call.tensors) specs.push_back({tensor.dtype(), tensor.shape()});
  return specs;
}

std::vector<Strides> strides_of(const FunctionCore::Call& call) {
  std::vector<Strides> strides;
  for (const Tensor& tensor : call.tensors) strides.push_back(given_strides(tensor));
  return strides;
}

std::string difference(const FunctionCore::Call& call, const TraceVariant* variant,
                       const CallSignature& last) {
  const std::vector<ops::Spec>& before = last.specs;
  if (call.tensors.size() != before.size()) return "another number of tensors";
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Tensor& tensor = call.tensors[i];
    if (tensor.dtype() != before[i].dtype) {
      return fmt::format("tensor {} is {}, was {}", i, name_of(tensor.dtype()),
                         name_of(before[i].dtype));
    }
    if (!(tensor.shape() == before[i].shape)) {
      return fmt::format("tensor {} has shape {}, had {}", i, to_string(tensor.shape()),
                         to_string(before[i].shape));
    }
  }
  if (device_of(call) != last.device) {
    return fmt::format("it is on {}, was on {}", name_of(device_of(call)), name_of(last.device));
  }
  if (call.layout != last.layout) {
    if (!call.other.empty()) return call.other;
    return "other containers of tensors, or another argument that is no tensor";
  }
  if (const DType type = ops::call_context().autocast; type != last.autocast) {
    const auto told = [](DType dtype) { return dtype == DType::float32 ? "off" : name_of(dtype); };
    return fmt::format("Autocast is {}, was {}", told(type), told(last.autocast));
  }
  const bool is_like_it = variant == nullptr || variant->key == last.variant;
  return is_like_it ? "its trace had been dropped" : variant->other;
}

}  // namespace tenure::graph
