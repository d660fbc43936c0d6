#include "tenure/kernels/cuda/driver/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "tenure/base/environment.h"

namespace tenure::kernels::cuda {
namespace {

std::string path_of(const Symbol& symbol, const char* name) {
  Dl_info info{};
  const bool is_known = dladdr(*symbol.place, &info) != 0 && info.dli_fname != nullptr;
  return is_known ? info.dli_fname : name;
}

}  // namespace

std::vector<std::string> library_folders() {
  if (const char* const only = environment("TENURE_CUDA_LIBRARIES")) return {only};
  std::vector<std::string> folders{""};
  if (const char* const home = environment("CUDA_HOME")) {
    folders.push_back(fmt::format("{}/lib64", home));
  }
  folders.emplace_back("/usr/local/cuda/lib64");
  return folders;
}

Library open_library(std::initializer_list<const char*> names, std::span<const Symbol> symbols) {
  Library library;
  for (const std::string& folder : library_folders()) {
    for (const char* const name : names) {
      const std::string file = folder.empty() ? std::string(name) : folder + '/' + name;
      library.handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library.handle == nullptr) {
        library.problem += fmt::format("{}{}", library.problem.empty() ? "" : "; ", dlerror());
        continue;
      }
      library.problem.clear();
      for (const Symbol& symbol : symbols) {
        *symbol.place = dlsym(library.handle, symbol.name);
        if (*symbol.place == nullptr) {
          library.problem = fmt::format("{} is too old: it has no {}", file, symbol.name);
          return library;
        }
      }
      library.path = symbols.empty() ? file : path_of(symbols.front(), name);
      return library;
    }
  }
  return library;
}

}  // namespace tenure::kernels::cuda
