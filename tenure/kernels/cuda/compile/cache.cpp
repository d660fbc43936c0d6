#include "tenure/kernels/cuda/compile/cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "tenure/base/environment.h"
#include "tenure/base/lasting.h"
#include "tenure/kernels/cuda/compile/sources.h"
#include "tenure/kernels/cuda/driver/nvrtc-inl.h"

namespace tenure::kernels::cuda {
namespace {

namespace fs = std::filesystem;

/// FNV-1a, with a start of one's own.
std::uint64_t hash(std::string_view text, std::uint64_t state) {
  for (const char c : text) {
    state ^= static_cast<unsigned char>(c);
    state *= 0x100000001b3u;
  }
  return state;
}
constexpr std::uint64_t kStart = 0xcbf29ce484222325u;
constexpr std::uint64_t kOtherStart = 0x9e3779b97f4a7c15u;

/// Of everything that does not differ from program to program.
CodeKey common_key() {
  static constinit Lasting<const CodeKey> one;
  return one.get([] {
    auto* const key = new CodeKey{kStart, kOtherStart};
    for (const Source& source : sources()) {
      for (const char* const part : {source.name, source.text}) {
        key->name = hash(part, key->name);
        key->check = hash(part, key->check);
      }
    }
    // The path too: a compiler of another kind may stand where NVRTC was.
    const std::string version = fmt::format("{} {}", nvrtc().version, nvrtc().library.path);
    key->name = hash(version, key->name);
    key->check = hash(version, key->check);
    return key;
  });
}

struct Header {
  char magic[8];
  std::uint64_t key;
  std::uint64_t contents;
};
constexpr char kMagic[8] = {'t', 'e', 'n', 'u', 'r', 'e', '0', '1'};

std::string user_folder() {
  if (const char* const own = environment("TENURE_CACHE")) return std::string(own) + "/cuda";
  if (const char* const xdg = environment("XDG_CACHE_HOME"); xdg != nullptr && *xdg != '\0') {
    return std::string(xdg) + "/tenure/cuda";
  }
  const char* const home = environment("HOME");
  return home == nullptr || *home == '\0' ? std::string()
                                          : std::string(home) + "/.cache/tenure/cuda";
}

}  // namespace

CodeKey key_of(const std::string& program, int architecture) {
  CodeKey key = common_key();
  const std::string target = fmt::format("sm_{}\n", architecture);
  key.name = hash(program, hash(target, key.name));
  key.check = hash(program, hash(target, key.check));
  return key;
}

CodeCache::CodeCache() : folder_(user_folder()) {}

std::string CodeCache::file_of(const CodeKey& key) const {
  return fmt::format("{}/{:016x}.cubin", folder_, key.name);
}

std::string CodeCache::find(const CodeKey& key) const {
  if (folder_.empty()) return {};
  const std::string file = file_of(key);
  std::ifstream in(file, std::ios::binary);
  if (!in) return {};
  std::ostringstream text;
  text << in.rdbuf();
  const std::string all = std::move(text).str();
  Header header{};
  if (all.size() <= sizeof header) return {};
  std::memcpy(&header, all.data(), sizeof header);
  std::string code = all.substr(sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.key != key.check ||
      header.contents != hash(code, kStart)) {
    return {};
  }
  std::error_code ignored;  // used now: it goes last
  fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
  return code;
}

void CodeCache::keep(const CodeKey& key, const std::string& code) const {
  if (folder_.empty()) return;
  std::error_code problem;
  fs::create_directories(folder_, problem);
  if (problem) return;
  const std::string file = file_of(key);
  std::string beside = file + ".XXXXXX";
  const int made = mkstemp(beside.data());
  if (made < 0) return;
  close(made);
  Header header{.magic = {}, .key = key.check, .contents = hash(code, kStart)};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  std::ofstream out(beside, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&header), sizeof header);
  out.write(code.data(), static_cast<std::streamsize>(code.size()));
  out.close();
  if (out) {
    fs::rename(beside, file, problem);
  } else {
    problem = std::make_error_code(std::errc::io_error);
  }
  if (problem) {
    fs::remove(beside, problem);
    return;
  }
  remove_oldest();
}

void CodeCache::remove_oldest() const {
  struct Entry {
    fs::file_time_type used;
    std::size_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::size_t total = 0;
  std::error_code problem;
  for (auto it = fs::directory_iterator(folder_, problem); !problem && it != fs::end(it);
       it.increment(problem)) {
    std::error_code gone;  // another process may tidy up as well
    const std::size_t bytes = it->file_size(gone);
    const fs::file_time_type used = it->last_write_time(gone);
    if (gone) continue;
    entries.push_back({used, bytes, it->path()});
    total += bytes;
  }
  if (total <= limit_) return;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= limit_) return;
    fs::remove(entry.path, problem);
    total -= entry.bytes;
  }
}

}  // namespace tenure::kernels::cuda
