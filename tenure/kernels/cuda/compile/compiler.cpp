#include "tenure/kernels/cuda/compile/compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tenure/kernels/cuda/compile/cache.h"
#include "tenure/kernels/cuda/compile/sources.h"
#include "tenure/kernels/cuda/driver/nvrtc-inl.h"

namespace tenure::kernels::cuda {
namespace {

/// No product is rounded together with a sum: bodies of ops say fma where they mean it. Warnings of
/// attributes that are for another compiler mean nothing.
constexpr const char* kOptions[] = {"--std=c++20", "--device-as-default-execution-space",
                                    "--fmad=false", "--diag-suppress=1097"};

class Program {
 public:
  explicit Program(const std::string& text) : functions_(nvrtc().functions) {
    std::vector<const char*> names;
    std::vector<const char*> texts;
    for (const Source& source : sources()) {
      names.push_back(source.name);
      texts.push_back(source.text);
    }
    result_ =
        functions_.nvrtcCreateProgram(&program_, text.c_str(), "tenure.cu",
                                      static_cast<int>(names.size()), texts.data(), names.data());
  }
  ~Program() {
    if (program_ != nullptr) functions_.nvrtcDestroyProgram(&program_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Compiled compile(Target target, std::initializer_list<const char*> more) {
    // What GPUs of sm_90 alone have is an architecture of its own, for which there is no text.
    const std::string made_for =
        fmt::format("--gpu-architecture={}_{}{}", target.is_text ? "compute" : "sm",
                    target.architecture, !target.is_text && target.architecture == 90 ? "a" : "");
    std::vector<const char*> options(std::begin(kOptions), std::end(kOptions));
    options.insert(options.end(), more);
    options.push_back(made_for.c_str());
    if (result_ == NVRTC_SUCCESS) {
      result_ = functions_.nvrtcCompileProgram(program_, static_cast<int>(options.size()),
                                               options.data());
    }
    Compiled compiled;
    const auto size = target.is_text ? functions_.nvrtcGetPTXSize : functions_.nvrtcGetCUBINSize;
    const auto code = target.is_text ? functions_.nvrtcGetPTX : functions_.nvrtcGetCUBIN;
    std::size_t bytes = 0;
    if (result_ == NVRTC_SUCCESS) result_ = size(program_, &bytes);
    if (result_ == NVRTC_SUCCESS) {
      compiled.code.resize(bytes);
      result_ = code(program_, compiled.code.data());
    }
    if (result_ != NVRTC_SUCCESS) {
      compiled = {.problem =
                      fmt::format("NVRTC: {}\n{}", functions_.nvrtcGetErrorString(result_), log())};
    }
    return compiled;
  }

 private:
  std::string log() {
    std::size_t bytes = 0;
    if (program_ == nullptr ||
        functions_.nvrtcGetProgramLogSize(program_, &bytes) != NVRTC_SUCCESS || bytes == 0) {
      return {};
    }
    std::string text(bytes, '\0');
    functions_.nvrtcGetProgramLog(program_, text.data());
    text.resize(bytes - 1);  // it ends in a zero
    return text;
  }

  const NvrtcFunctions& functions_;
  nvrtcProgram program_ = nullptr;
  nvrtcResult result_ = NVRTC_SUCCESS;
};

}  // namespace

Target target_for(int architecture) {
  if (!nvrtc().library.is_usable()) return {.architecture = architecture};
  const NvrtcFunctions& functions = nvrtc().functions;
  int n = 0;
  std::vector<int> known;
  if (functions.nvrtcGetNumSupportedArchs(&n) == NVRTC_SUCCESS && n > 0) {
    known.resize(static_cast<std::size_t>(n));
    if (functions.nvrtcGetSupportedArchs(known.data()) != NVRTC_SUCCESS) known.clear();
  }
  int newest = 0;  // up to the GPU's own
  for (const int one : known) {
    if (one <= architecture) newest = std::max(newest, one);
  }
  if (newest == 0 || newest == architecture) return {.architecture = architecture};
  return {.architecture = newest, .is_text = true};
}

Compiled compile(const std::string& program, Target target,
                 std::initializer_list<const char*> more) {
  if (!nvrtc().library.is_usable()) {
    return {.problem = fmt::format("NVRTC was not found: {}", nvrtc().library.problem)};
  }
  return Program(program).compile(target, more);
}

Compiled compile_or_find(const std::string& program, int architecture) {
  const CodeCache cache;
  const CodeKey key = key_of(program, architecture);
  if (std::string code = cache.find(key); !code.empty()) return {.code = std::move(code)};
  Compiled compiled = compile(program, target_for(architecture));
  if (compiled.problem.empty()) cache.keep(key, compiled.code);
  return compiled;
}

}  // namespace tenure::kernels::cuda
