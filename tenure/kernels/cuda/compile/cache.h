#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

// Note: compiled kernels on disk
//
// $TENURE_CACHE, else $XDG_CACHE_HOME/tenure, else ~/.cache/tenure; in it, cuda/ has a file for
// each program. Its name is a hash of all that it was made from: the program, every source that it
// may include, the architecture, the compiler's version. The file begins with the second half of
// that hash and ends with one of its contents, so that what was cut off or changed is not loaded.
// It is written beside its place and renamed: two processes do not see halves of each other's.
// Files that were not used for the longest time go when all are more than kCacheLimit.
//
// None of it can fail a program: without a folder that can be written, kernels are compiled again.

namespace tenure::kernels::cuda {

inline constexpr std::size_t kCacheLimit = std::size_t{256} << 20;

/// What compiled code is found by.
struct CodeKey {
  std::uint64_t name = 0;
  std::uint64_t check = 0;
};
CodeKey key_of(const std::string& program, int architecture);

class CodeCache {
 public:
  /// The user's. An empty folder: there is none.
  CodeCache();
  explicit CodeCache(std::string folder, std::size_t limit = kCacheLimit)
      : folder_(std::move(folder)), limit_(limit) {}

  const std::string& folder() const { return folder_; }
  /// Empty if it is not there, or not whole.
  std::string find(const CodeKey& key) const;
  /// Does nothing where it cannot.
  void keep(const CodeKey& key, const std::string& code) const;

 private:
  std::string file_of(const CodeKey& key) const;
  void remove_oldest() const;

  std::string folder_;
  std::size_t limit_ = kCacheLimit;
};

}  // namespace tenure::kernels::cuda
