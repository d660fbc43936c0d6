#include <nvrtc.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

// NVRTC for the emulated GPU: compiles with the C++ compiler. See protocol.h.

struct _nvrtcProgram {
  std::string text;
  std::string log;
  std::string code;
  bool is_text = false;  // or code, as it was asked for
};

namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

}  // namespace

extern "C" {

nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return NVRTC_SUCCESS;
}
const char* nvrtcGetErrorString(nvrtcResult result) {
  return result == NVRTC_SUCCESS ? "success" : "the compiler failed";
}
nvrtcResult nvrtcGetNumSupportedArchs(int* number) {
  *number = 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetSupportedArchs(int* archs) {
  archs[0] = 90;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* text, const char*, int,
                               const char* const*, const char* const*) {
  *program = new _nvrtcProgram{.text = text, .log = {}, .code = {}};
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int n, const char* const* options) {
  bool is_known = false;
  for (int i = 0; i < n; ++i) {
    const std::string_view option = options[i];
    if (option == "--gpu-architecture=compute_90") program->is_text = true;
    is_known |= program->is_text || option == "--gpu-architecture=sm_90a";
  }
  if (!is_known) return NVRTC_ERROR_INVALID_OPTION;
  std::string folder = (std::filesystem::temp_directory_path() / "tenure-gpu-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return NVRTC_ERROR_INTERNAL_ERROR;
  const std::filesystem::path at = folder;
  std::ofstream(at / "kernel.cpp", std::ios::binary) << program->text;
  const std::string command = std::string(TENURE_KERNEL_COMPILER) + " -o " + folder +
                              "/kernel.so " + folder + "/kernel.cpp 2> " + folder + "/log";
  const int status = std::system(command.c_str());
  program->log = read_file(at / "log");
  if (status == 0) program->code = read_file(at / "kernel.so");
  std::error_code ignored;
  std::filesystem::remove_all(at, ignored);
  return program->code.empty() ? NVRTC_ERROR_COMPILATION : NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, std::size_t* bytes) {
  *bytes = program->log.size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  std::memcpy(log, program->log.c_str(), program->log.size() + 1);
  return NVRTC_SUCCESS;
}
static nvrtcResult size_of_code(nvrtcProgram program, bool is_text, std::size_t* bytes) {
  *bytes = program->is_text == is_text ? program->code.size() : 0;
  return NVRTC_SUCCESS;
}
static nvrtcResult copy_code(nvrtcProgram program, bool is_text, char* code) {
  if (program->is_text != is_text) return NVRTC_ERROR_INVALID_PROGRAM;
  std::memcpy(code, program->code.data(), program->code.size());
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* bytes) {
  return size_of_code(program, false, bytes);
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* code) {
  return copy_code(program, false, code);
}
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, std::size_t* bytes) {
  return size_of_code(program, true, bytes);
}
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* code) { return copy_code(program, true, code); }
}
