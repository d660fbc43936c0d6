#include "tenure/kernels/cuda/compile/kernels.h"

#include <fmt/format.h>

#include <map>

#include "tenure/kernels/cuda/compile/compiler.h"
#include "tenure/kernels/cuda/driver/driver-inl.h"
#include "tenure/kernels/cuda/launch/gpu.h"

namespace tenure::kernels::cuda {
namespace {

std::string key_of_source(const KernelCode& code) {
  return fmt::format("{}\n{}", code.file, code.text);
}

}  // namespace

std::string program_of(const std::string& file, std::span<const KernelCode> codes) {
  std::string text = fmt::format("#include \"{}\"\nnamespace tenure::kernels::cuda {{\n", file);
  for (const KernelCode& code : codes) text += code.text;
  return text + "}\n";
}

const char* device_type(DType type) {
  static constexpr const char* kNames[] = {
      "bool",         "std::uint8_t", "std::int8_t", "std::int16_t", "std::int32_t",
      "std::int64_t", "Half",         "BFloat16",    "float",        "double"};
  static_assert(std::size(kNames) == kDTypes);
  return kNames[static_cast<std::size_t>(type)];
}

KernelCode TypedKernel::code(Types types) const {
  std::string name = function;
  std::string list;
  if (form != nullptr) name += fmt::format("_{}", form);
  for (const std::uint8_t type : types.of) {
    if (type == Types::kNone) continue;
    name += fmt::format("_{}", name_of(static_cast<DType>(type)));
    list += fmt::format("{}{}", list.empty() ? "" : ", ", device_type(static_cast<DType>(type)));
  }
  if (form != nullptr) list += fmt::format(", RowForm::{}", form);
  const std::string bounds = blocks == 1 ? fmt::format("{}", threads)
                                         : fmt::format("TENURE_BOUNDS({}, {})", threads, blocks);
  std::string text =
      fmt::format("TENURE_KERNEL({}_kernel, {}, {}, {}{})\n", name, bounds, arguments, function,
                  list.empty() ? "" : fmt::format("<{}>", list));
  return {.file = file, .text = std::move(text), .names = {name + "_kernel"}};
}

std::size_t LoadedKernels::TypedHash::operator()(
    const std::pair<const TypedKernel*, Types>& key) const noexcept {
  const auto& types = key.second.of;
  return std::hash<const void*>()(key.first) ^
         static_cast<std::size_t>(types[0] | types[1] << 8 | types[2] << 16) * 0x9e3779b97f4a7c15u;
}

Function LoadedKernels::find(const TypedKernel& kernel, Types types) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = by_types_.find({&kernel, types});
    if (known != by_types_.end()) return known->second;
  }
  const Function made = find(kernel.code(types)).front();
  const std::lock_guard lock(mutex_);
  by_types_[{&kernel, types}] = made;
  return made;
}

std::vector<Function> LoadedKernels::find(const KernelCode& code) {
  const std::string key = key_of_source(code);
  const auto look = [&] {
    const std::lock_guard lock(mutex_);
    const auto known = by_source_.find(key);
    return known == by_source_.end() ? std::vector<Function>() : known->second;
  };
  std::vector<Function> found = look();
  if (!found.empty()) return found;
  load(code.file, {&code, 1});
  return look();
}

void LoadedKernels::prepare(std::span<const KernelCode> codes) {
  std::map<std::string, std::vector<KernelCode>> by_file;
  for (const KernelCode& code : codes) by_file[code.file].push_back(code);
  for (const auto& [file, kernels] : by_file) load(file, kernels);
}

void LoadedKernels::load(const std::string& file, std::span<const KernelCode> codes) {
  const std::string& name = codes.front().names.front();
  const Compiled compiled = compile_or_find(program_of(file, codes), gpu_.facts().architecture);
  if (!compiled.problem.empty()) {
    throw DeviceError::because(
        name, gpu_.device(),
        fmt::format("the kernel {} cannot be compiled: {}", name, compiled.problem));
  }
  gpu_.enter();
  const DriverFunctions& functions = driver().functions;
  CUmodule module = nullptr;  // it stays
  gpu_.check(functions.cuModuleLoadData(&module, compiled.code.data()), "load a kernel");
  for (const KernelCode& code : codes) {
    std::vector<Function> found(code.names.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      gpu_.check(functions.cuModuleGetFunction(&found[i], module, code.names[i].c_str()),
                 "find a kernel in its module");
    }
    const std::lock_guard lock(mutex_);
    by_source_[key_of_source(code)] = std::move(found);
  }
}

}  // namespace tenure::kernels::cuda
