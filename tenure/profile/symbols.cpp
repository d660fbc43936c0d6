#include "tenure/profile/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "tenure/base/lasting.h"

extern char** environ;

namespace tenure::profile {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, Close>;

/// The build id of a file, empty where it has none or is no module.
std::string build_id_of(const std::string& path) {
  constexpr std::size_t kLongestNotes = 1 << 16;
  struct stat state {};
  if (stat(path.c_str(), &state) != 0 || !S_ISREG(state.st_mode)) return {};
  const OpenFile file(std::fopen(path.c_str(), "rbe"));
  ElfW(Ehdr) head;
  if (file == nullptr || std::fread(&head, sizeof head, 1, file.get()) != 1) return {};
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return {};
  for (int i = 0; i < head.e_phnum; ++i) {
    ElfW(Phdr) segment;
    if (std::fseek(file.get(), static_cast<long>(head.e_phoff + i * sizeof segment), SEEK_SET) !=
            0 ||
        std::fread(&segment, sizeof segment, 1, file.get()) != 1) {
      return {};
    }
    if (segment.p_type != PT_NOTE || segment.p_filesz > kLongestNotes) continue;
    std::vector<std::byte> notes(segment.p_filesz);
    if (std::fseek(file.get(), static_cast<long>(segment.p_offset), SEEK_SET) != 0 ||
        std::fread(notes.data(), 1, notes.size(), file.get()) != notes.size()) {
      return {};
    }
    if (std::string id = build_id_in(notes); !id.empty()) return id;
  }
  return {};
}

/// Whether a file has the names of all its functions. One that was stripped has only those that
/// others may call, and an address gets the name of whichever comes before it.
bool has_all_names(const std::string& path) {
  const OpenFile file(std::fopen(path.c_str(), "rbe"));
  ElfW(Ehdr) head;
  if (file == nullptr || std::fread(&head, sizeof head, 1, file.get()) != 1) return false;
  for (int i = 0; i < head.e_shnum; ++i) {
    ElfW(Shdr) section;
    if (std::fseek(file.get(), static_cast<long>(head.e_shoff + i * sizeof section), SEEK_SET) !=
            0 ||
        std::fread(&section, sizeof section, 1, file.get()) != 1) {
      return false;
    }
    if (section.sh_type == SHT_SYMTAB) return true;
  }
  return false;
}

/// What addr2line prints for these addresses; empty if it cannot be asked.
std::string ask(const std::string& module, const std::vector<std::uint64_t>& offsets) {
  if (getauxval(AT_SECURE) != 0) return {};  // it would run a program that PATH names, as root
  const OpenFile questions(std::tmpfile());
  const OpenFile answers(std::tmpfile());
  if (questions == nullptr || answers == nullptr) return {};
  for (const std::uint64_t offset : offsets) {
    const std::string line = fmt::format("{:#x}\n", offset);
    std::fwrite(line.data(), 1, line.size(), questions.get());
  }
  std::fflush(questions.get());
  std::rewind(questions.get());
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return {};
  posix_spawn_file_actions_adddup2(&actions, fileno(questions.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(answers.get()), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string file = module;
  char* const arguments[] = {const_cast<char*>("addr2line"), const_cast<char*>("-afCi"),
                             const_cast<char*>("-e"), file.data(), nullptr};
  pid_t child = 0;
  const int failure = posix_spawnp(&child, "addr2line", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return {};
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return {};
  std::string text;
  char piece[1 << 14];
  std::rewind(answers.get());
  while (const std::size_t n = std::fread(piece, 1, sizeof piece, answers.get()))
    text.append(piece, n);
  return text;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

using CallsByOffset = std::map<std::uint64_t, std::vector<CallFrame>>;

/// What was answered, so that it is asked once.
class Answers {
 public:
  static Answers& instance() {
    static constinit Lasting<Answers> all;
    return all.get([] { return new Answers; });
  }
  CallsByOffset of(const Module& module) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    return lock ? modules_[{module.path, module.build_id}] : CallsByOffset();
  }
  void keep(const Module& module, const CallsByOffset& calls) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) modules_[{module.path, module.build_id}].insert(calls.begin(), calls.end());
  }

 private:
  // Nobody waits for it: in a child of fork() nobody may be there to release it.
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, CallsByOffset> modules_;  // by path and build id
};

/// Calls by the addresses of one module, as far as they have names.
CallsByOffset calls_in(const Module& module, std::vector<std::uint64_t> offsets) {
  if (module.build_id.empty() || build_id_of(module.path) != module.build_id) return {};
  CallsByOffset calls = Answers::instance().of(module);
  std::erase_if(offsets, [&](std::uint64_t offset) { return calls.contains(offset); });
  if (offsets.empty()) return calls;
  const std::string text = ask(module.path, offsets);
  const std::vector<std::string_view> lines = lines_of(text);
  const bool are_names_right = has_all_names(module.path);
  std::size_t asked = 0;
  for (std::size_t i = 0; i < lines.size() && asked < offsets.size();) {
    if (!lines[i].starts_with("0x")) break;
    std::size_t end = ++i;
    while (end < lines.size() && !lines[end].starts_with("0x")) ++end;
    std::vector<CallFrame>& found = calls[offsets[asked++]];
    found = parse_calls(std::span(lines).subspan(i, end - i));
    if (!are_names_right) {
      std::erase_if(found, [](const CallFrame& call) { return call.file.empty(); });
    }
    i = end;
  }
  Answers::instance().keep(module, calls);
  return calls;
}

/// Where the library's sources were; its headers are there, or below include/ of an installed one.
std::string_view library_folder() {
  std::string_view here = __FILE__;
  here.remove_suffix(std::string_view("profile/symbols.cpp").size());
  return here;
}

/// Whether a program's author has not written it. What was inlined may have a name without its
/// namespace, and then has a file.
bool is_machinery(std::string_view function, std::string_view file) {
  if (file.starts_with(library_folder()) || file.find("/include/tenure/") != file.npos ||
      file.find("/include/c++/") != file.npos) {
    return true;
  }
  for (const std::string_view space : {"tenure::", "std::", "__gnu_cxx::", "__cxxabiv1::"}) {
    if (function.starts_with(space)) return true;
  }
  return function == "_start" || function.starts_with("__libc_start") ||
         function == "start_thread" || function.starts_with("__clone") || function == "clone3" ||
         function == "execute_native_thread_routine" || function.starts_with("GOMP_");
}

}  // namespace

std::string plain_function(std::string_view demangled) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::string name;
  int depth = 0;  // of <>, of which nothing is said
  for (std::size_t i = 0; i < demangled.size(); ++i) {
    const std::string_view rest = demangled.substr(i);
    const char c = demangled[i];
    if (depth == 0 && rest.starts_with("operator")) {  // its name may have any of the signs below
      std::size_t end = rest.find('(', rest.starts_with("operator()") ? 10 : 8);
      if (rest.starts_with("operator<") && !rest.starts_with("operator<(") &&
          !rest.starts_with("operator<<") && !rest.starts_with("operator<=")) {
        end = 9;  // then come its templates
      }
      name += rest.substr(0, std::min(end, rest.size()));
      i += std::min(end, rest.size()) - 1;
    } else if (depth == 0 && rest.starts_with(kAnonymous)) {
      name += kAnonymous;
      i += kAnonymous.size() - 1;
    } else if (depth == 0 && rest.starts_with("decltype")) {
      i += std::min(rest.find(')'), rest.size() - 1);
    } else if (depth == 0 && c == '{') {  // {lambda(int)#1}
      const std::size_t end = std::min(rest.find('}'), rest.size() - 1);
      name += rest.substr(0, end + 1);
      i += end;
    } else if (c == '<') {
      ++depth;
    } else if (c == '>') {
      depth = std::max(depth - 1, 0);
    } else if (depth == 0 && (c == '(' || c == '.')) {  // its arguments; f.cold, a part of f
      break;
    } else if (depth == 0 && c == ' ') {  // what came was the result, but for "operator< <int>"
      if (!rest.starts_with(" <")) name.clear();
    } else if (depth == 0) {
      name += c;
    }
  }
  return name;
}

std::vector<CallFrame> parse_calls(std::span<const std::string_view> lines) {
  std::vector<CallFrame> calls;
  for (std::size_t i = 0; i + 1 < lines.size(); i += 2) {
    CallFrame call{.function = plain_function(lines[i])};
    if (call.function.empty() || call.function == "??") continue;
    std::string_view place = lines[i + 1];
    place = place.substr(0, place.find(" (discriminator"));
    const std::size_t colon = std::min(place.rfind(':'), place.size());
    if (!place.starts_with("??") && colon < place.size()) {
      call.file = place.substr(0, colon);
      std::from_chars(place.data() + colon + 1, place.data() + place.size(), call.line);
    }
    if (!is_machinery(call.function, call.file)) calls.push_back(std::move(call));
  }
  return calls;
}

NamedCalls name_calls(std::span<const Module> modules,
                      std::span<const std::vector<ModuleAddress>> stacks) {
  std::vector<std::vector<std::uint64_t>> offsets(modules.size());
  for (const std::vector<ModuleAddress>& stack : stacks) {
    for (const ModuleAddress& address : stack) {
      if (address.module < modules.size()) offsets[address.module].push_back(address.offset);
    }
  }
  std::vector<CallsByOffset> calls(modules.size());
  for (std::size_t m = 0; m < modules.size(); ++m) {
    std::sort(offsets[m].begin(), offsets[m].end());
    offsets[m].erase(std::unique(offsets[m].begin(), offsets[m].end()), offsets[m].end());
    if (!offsets[m].empty()) calls[m] = calls_in(modules[m], offsets[m]);
  }
  NamedCalls named;
  std::map<CallFrame, std::uint32_t> numbers;
  for (const std::vector<ModuleAddress>& stack : stacks) {
    std::vector<std::uint32_t>& frames = named.stacks.emplace_back();
    const auto add = [&](const CallFrame& frame) {
      const auto next = static_cast<std::uint32_t>(named.frames.size());
      const auto [known, is_new] = numbers.try_emplace(frame, next);
      if (is_new) named.frames.push_back(frame);
      frames.push_back(known->second);
    };
    for (const ModuleAddress& address : stack) {
      if (address.module >= modules.size()) continue;
      const auto found = calls[address.module].find(address.offset);
      if (found != calls[address.module].end()) {
        for (const CallFrame& call : found->second) add(call);
      } else if (const std::string& path = modules[address.module].path; !path.empty()) {
        const std::string_view name = std::string_view(path).substr(path.find_last_of('/') + 1);
        add({.function = fmt::format("{}+{:#x}", name, address.offset), .has_name = false});
      }
    }
    std::reverse(frames.begin(), frames.end());
  }
  return named;
}

}  // namespace tenure::profile
