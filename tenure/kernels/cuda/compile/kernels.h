#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tenure/tensor/dtype.h"

struct CUfunc_st;

// Note: where kernels come from
//
// A kernel is source: a .cu file of this folder, which is a part of the library as text
// (sources.h), and a few lines after it, which make kernels of its templates:
//
//     #include "tenure/kernels/cuda/create/fill.cu"
//     TENURE_KERNEL(fill_float32, 256, FillArguments, fill<float>)
//
// NVRTC compiles that when it is first launched (compiler.h), and the result is kept on disk. Each
// kernel has one argument, a struct by value that host and device both know from one header,
// *_arguments.h.

namespace tenure::kernels::cuda {

class Gpu;

/// A function of a module that is loaded on one GPU.
using Function = CUfunc_st*;

/// A kernel as source.
struct KernelCode {
  std::string file;                ///< "tenure/kernels/cuda/create/fill.cu"
  std::string text;                ///< the lines after it, within namespace tenure::kernels::cuda
  std::vector<std::string> names;  ///< of the kernels that they make
};

/// Up to three element types that a kernel is made for.
struct Types {
  static constexpr std::uint8_t kNone = 255;
  std::array<std::uint8_t, 3> of{kNone, kNone, kNone};

  Types() = default;
  Types(DType a) : of{index(a), kNone, kNone} {}  // NOLINT(google-explicit-constructor)
  Types(DType a, DType b) : of{index(a), index(b), kNone} {}
  Types(DType a, DType b, DType c) : of{index(a), index(b), index(c)} {}
  bool operator==(const Types&) const = default;

 private:
  static std::uint8_t index(DType type) { return static_cast<std::uint8_t>(type); }
};

/// A struct that is printed into kernels, in namespace `printed`. It stays for the process, and its
/// address is its identity.
struct PrintedStruct {
  std::string name;
  std::string text;
};

/// The loops that are printed into a kernel (loops/neighbours.h); nullptr: none.
struct PrintedNeighbours {
  const PrintedStruct* before = nullptr;
  const PrintedStruct* after = nullptr;

  bool operator==(const PrintedNeighbours&) const = default;
};

/// A template of a .cu file: `template <class A, class B> void function(const Arguments&)`, where
/// other arguments may stand before the types.
struct TypedKernel {
  const char* file;          ///< "tenure/kernels/cuda/create/fill.cu"
  const char* function;      ///< "fill"
  const char* arguments;     ///< "FillArguments"
  std::uint32_t threads;     ///< of a block, at most
  std::vector<Types> types;  ///< all that it is made for; those that are launched are among them
  std::uint32_t blocks = 1;  ///< that a processor has room for at once, at least
  std::vector<const char*> first{};  ///< what stands before the types: "true", "kSmallTile"

  KernelCode code(Types types) const { return code(types, {}); }
  KernelCode code(Types types, const PrintedNeighbours& neighbours) const;
};

/// "float", "Half", ...: an element type as sources call it.
const char* device_type(DType type);

/// Kernels of one file as one program.
std::string program_of(const std::string& file, std::span<const KernelCode> codes);

/// What is loaded on one GPU, by its source.
class LoadedKernels {
 public:
  explicit LoadedKernels(Gpu& gpu) : gpu_(gpu) {}

  /// In the order of their names.
  std::vector<Function> find(const KernelCode& code);
  Function find(const TypedKernel& kernel, Types types, const PrintedNeighbours& neighbours = {});
  /// Compiles them together, those of one file at once: for whoever knows that all are needed.
  void prepare(std::span<const KernelCode> codes);

 private:
  struct TypedKey {
    const TypedKernel* kernel;
    Types types;
    PrintedNeighbours neighbours;

    bool operator==(const TypedKey&) const = default;
  };
  struct TypedHash {
    std::size_t operator()(const TypedKey& key) const noexcept;
  };
  void load(const std::string& file, std::span<const KernelCode> codes);

  Gpu& gpu_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::vector<Function>> by_source_;
  std::unordered_map<TypedKey, Function, TypedHash> by_types_;
};

}  // namespace tenure::kernels::cuda
