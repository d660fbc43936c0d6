#pragma once

#include "tenure/profile/queries.h"
#include "tenure/tenure.h"
#include "tests/profile/scratch.h"

namespace tenure::test {

/// A recording of `work`, read.
struct Recording {
  template <class Work>
  explicit Recording(const Work& work, bool with_spans = false, ProfileOptions options = {})
      : recorded(record(file, work, options)), history(recorded, with_spans) {}
  template <class Work>
  static profile::Recorded record(const ScratchFile& file, const Work& work,
                                  ProfileOptions options = {}) {
    {
      const Profile profile(file.path(), options);
      work();
    }
    return profile::Recorded(file.path());
  }
  ScratchFile file;
  profile::Recorded recorded;
  profile::History history;
};

}  // namespace tenure::test
