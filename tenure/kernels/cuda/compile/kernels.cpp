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

KernelCode TypedKernel::code(Types types, const PrintedNeighbours& neighbours) const {
  std::string name = function;
  std::string list;
  const auto add = [&](const std::string& suffix, const std::string& argument) {
    name += fmt::format("_{}", suffix);
    list += fmt::format("{}{}", list.empty() ? "" : ", ", argument);
  };
  for (const char* const argument : first) add(argument, argument);
  for (const std::uint8_t type : types.of) {
    if (type == Types::kNone) continue;
    add(std::string(name_of(static_cast<DType>(type))), device_type(static_cast<DType>(type)));
  }
  std::string text;
  std::string given = arguments;
  if (neighbours != PrintedNeighbours()) {
    const auto add_loop = [&](const PrintedStruct* loop) {
      if (loop == nullptr) return add("alone", "NoLoop");
      add(loop->name, "printed::" + loop->name);
    };
    if (neighbours.after != nullptr) text += neighbours.after->text;
    if (neighbours.before != nullptr && neighbours.before != neighbours.after) {
      text += neighbours.before->text;
    }
    add_loop(neighbours.after);
    if (neighbours.before != nullptr) add_loop(neighbours.before);
    given = name + "_arguments";
    text += fmt::format("using {} = {}<{}>;\n", given,
                        neighbours.before == nullptr  ? "WithAfter"
                        : neighbours.after == nullptr ? "WithBefore"
                                                      : "WithBoth",
                        arguments);
  }
  const std::string bounds = blocks == 1 ? fmt::format("{}", threads)
                                         : fmt::format("TENURE_BOUNDS({}, {})", threads, blocks);
  text += fmt::format("TENURE_KERNEL({}_kernel, {}, {}, {}{})\n", name, bounds, given, function,
                      list.empty() ? "" : fmt::format("<{}>", list));
  return {.file = file, .text = std::move(text), .names = {name + "_kernel"}};
}

std::size_t LoadedKernels::TypedHash::operator()(const TypedKey& key) const noexcept {
  const auto& types = key.types.of;
  std::size_t hash = static_cast<std::size_t>(types[0] | types[1] << 8 | types[2] << 16);
  for (const void* const address :
       {static_cast<const void*>(key.kernel), static_cast<const void*>(key.neighbours.before),
        static_cast<const void*>(key.neighbours.after)}) {
    hash = hash * 0x9e3779b97f4a7c15u ^ std::hash<const void*>()(address);
  }
  return hash;
}

Function LoadedKernels::find(const TypedKernel& kernel, Types types,
                             const PrintedNeighbours& neighbours) {
  const TypedKey key{.kernel = &kernel, .types = types, .neighbours = neighbours};
  {
    const std::lock_guard lock(mutex_);
    const auto known = by_types_.find(key);
    if (known != by_types_.end()) return known->second;
  }
  const Function made = find(kernel.code(types, neighbours)).front();
  const std::lock_guard lock(mutex_);
  by_types_[key] = made;
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
