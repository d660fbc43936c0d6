#include "tenure/profile/profile.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "tenure/base/environment.h"
#include "tenure/base/object_mutex.h"
#include "tenure/base/text.h"
#include "tenure/memory/threads/call.h"
#include "tenure/profile/call_book.h"
#include "tenure/profile/watch.h"
#include "tenure/profile/writer.h"

namespace tenure {
namespace profile {
namespace {

/// Throws ForkError in a child, if another thread of the parent's was just here.
void forget_in_children() {
  static constinit ObjectMutex mutex;
  static constinit bool is_done = false;
  const std::lock_guard lock(mutex);
  if (is_done) return;
  pthread_atfork([] { Writer::instance().before_fork(); },
                 [] { Writer::instance().after_fork(false); },
                 [] { Writer::instance().after_fork(true); });
  is_done = true;
}

std::atomic<bool> records_whole_program{false};

std::string with_process_number(std::string path) {
  if (const std::size_t at = path.rfind("%p"); at != std::string::npos) {
    path.replace(at, 2, std::to_string(getpid()));
  }
  return path;
}

std::size_t capacity_of(const std::string& text) {
  std::size_t bytes = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, bytes);
  if (error != std::errc() || rest != end) {
    throw ProfileError(fmt::format(
        "TENURE_PROFILE_CAPACITY is \"{}\", and must be a number of bytes; nothing is recorded",
        plain(text)));
  }
  return bytes;
}

/// As `tenure profile` names it.
std::string file_of_this_program() {
  const std::string path = program_path();
  return path.substr(path.find_last_of('/') + 1) + ".tenure";
}

}  // namespace
}  // namespace profile

Profile::Profile(const std::string& name, ProfileOptions options, Site site) try {
  const std::string file =
      profile::with_process_number(name.empty() ? profile::file_of_this_program() : name);
  if (options.capacity < 4 * profile::kChunkBytes) {
    throw ProfileError(fmt::format("Profile: a capacity of {} bytes is too small; {} is the least",
                                   options.capacity, 4 * profile::kChunkBytes));
  }
  if (profile::records_whole_program) {
    std::fprintf(stderr, "tenure: Profile(\"%s\") is left out: TENURE_PROFILE records all\n",
                 plain(file).c_str());
    is_on_ = false;
    return;
  }
  mem::this_thread();
  if (profile::CallBook::instance().is_on()) options.stacks = true;  // TENURE_STACKS says so
  profile::forget_in_children();
  profile::Writer::instance().begin(file, options);
} catch (Error& error) {
  mem::name_call(error, "Profile", site);
  throw;
}

Profile::~Profile() {
  if (is_on_) profile::Writer::instance().end();
}

}  // namespace tenure

namespace tenure::profile {

// Both end with the static objects that are older than the first tensor.
void begin_as_environment_says() noexcept {
  const auto value = [](const char* name) {
    const char* const text = environment(name);
    return std::string(text == nullptr ? "" : text);
  };
  const auto is_set = [&](const char* name) {
    const std::string text = value(name);
    return !text.empty() && text != "0";
  };
  try {
    const bool stacks = is_set("TENURE_STACKS");
    if (stacks) {
      forget_in_children();
      Writer::instance().keep_calls();
    }
    if (const std::string file = value("TENURE_PROFILE"); !file.empty()) {
      ProfileOptions options;
      if (const std::string capacity = value("TENURE_PROFILE_CAPACITY"); !capacity.empty()) {
        options.capacity = capacity_of(capacity);
      }
      options.stacks = stacks;
      static const Profile whole_program(file, options, Site());
      records_whole_program = true;
    }
    if (is_set("TENURE_WATCH")) {
      static const Watch whole_program{Site()};
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tenure: %s\n", error.what());
  }
}

}  // namespace tenure::profile
