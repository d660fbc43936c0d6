#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tenure::profile {

/// The calls that a thread is in, by their addresses in the code, the innermost first. What lies
/// further out than kMost of them is left out.
class CallStack {
 public:
  static constexpr std::size_t kMost = 64;

  /// Of this thread, from the caller on. Unwinds by the tables that every program has for
  /// exceptions: some hundred nanoseconds a call, and no memory.
  static CallStack capture() noexcept;

  std::span<const std::uintptr_t> addresses() const { return {addresses_.data(), size_}; }
  std::uint64_t hash() const noexcept;

 private:
  void add(std::uintptr_t address) noexcept { addresses_[size_++] = address; }

  std::array<std::uintptr_t, kMost> addresses_;
  std::size_t size_ = 0;
};

/// A program or a shared library.
struct Module {
  std::string path;
  std::string build_id;  ///< bytes that the linker made of its content; empty: none
};

/// An address as its module has it, wherever that was loaded.
struct ModuleAddress {
  std::size_t module = 0;  ///< index among the modules
  std::uint64_t offset = 0;
};

/// What is loaded around some addresses.
struct Located {
  std::vector<Module> modules;           ///< each once
  std::vector<ModuleAddress> addresses;  ///< one for each
};
Located locate(std::span<const std::uintptr_t> addresses);

/// The build id among the notes of a module; empty if there is none.
std::string build_id_in(std::span<const std::byte> notes);

}  // namespace tenure::profile
