#pragma once

#include <cstddef>
#include <string>

#include "tenure/base/error.h"
#include "tenure/memory/observer.h"

namespace tenure {

/// A recording cannot be written or read. The text names the file and what is wrong with it.
class ProfileError : public Error {
 public:
  using Error::Error;
};

struct ProfileOptions {
  /// Bytes of the file. Beyond them the newest events stay and the oldest go.
  std::size_t capacity = std::size_t{4} << 30;
  /// Record with each tensor, and each disposal, the calls that led there, so that a helper which
  /// everybody calls does not hide who did. Costs 1 to 5 microseconds each, by the depth of the
  /// calls, and little room: equal ones are written once. They get names when the recording is
  /// read, for which the program must still be there, and have debug information (-g).
  bool stacks = false;
};

/// Records all that happens to memory, on all threads, into a file that `tenure report`, `tenure
/// top` and tenure/profile/queries.h read:
///
///     const Profile profile("step.tenure");
///     train();
///
/// At most one at a time. The file is readable at every moment, also when the program is killed.
/// Without a name it is PROGRAM.tenure in the working directory; "%p" in a name stands for the
/// number of the process. Setting TENURE_PROFILE=FILE in the environment records a whole program
/// without a change to it, within TENURE_PROFILE_CAPACITY bytes, with stacks if
/// TENURE_STACKS=1. A Profile within such a program is left out, and standard error says
/// so. A child process that is forked is not recorded.
class Profile {
 public:
  /// Throws ProfileError if the file cannot be written, as when another process records into it, or
  /// while another profile is on.
  explicit Profile(const std::string& file = {}, ProfileOptions options = {},
                   Site site = Site::current());
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

 private:
  bool is_on_ = true;
};

}  // namespace tenure

namespace tenure::profile {

/// Begins to record, and to be watched, if the environment says so; see memory/observer.h.
void begin_as_environment_says() noexcept;

}  // namespace tenure::profile
