#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/memory/kinds.h"
#include "tenure/profile/format.h"

namespace tenure::profile {

/// A compiled program, step by step, and where its temporaries lie in the arena: as
/// mem::PlannedProgram has it, but with the bodies of its branches and loops in one list.
struct RecordedPlan {
  static constexpr int kNoBody = -1;  ///< it is the program itself

  struct Step {
    std::uint32_t origin = 0;
    std::uint32_t unit = 0;  ///< equal for steps that compute the same
    Category category = Category::activation;
    bool is_pure = true;
    bool is_output = false;
    bool is_again = false;  ///< an earlier step has computed the same
    std::uint32_t overwrites = 0;
    std::int64_t live = 0;
    std::int64_t cost = 0;  ///< nanoseconds, an estimate
    std::int64_t bytes = 0;
    std::int64_t workspace = 0;
    std::vector<std::uint32_t> inputs{};
  };
  struct Buffer {
    std::string_view op{};      ///< the recording's
    std::string_view layout{};  ///< "float32[8, 4]"; empty: not known, or only bytes
    std::int64_t offset = 0;    ///< in the arena of the program
    std::int64_t bytes = 0;
    int first = 0;  ///< steps of the program, both included
    int last = 0;
    std::uint32_t origin = 0;  ///< of its first step; 0: not known
    Category category = Category::activation;
    bool is_saved = false;
    bool is_again = false;
    int body = kNoBody;   ///< what it lies in: its place among the bodies
    int inner_first = 0;  ///< steps of that body; without one, those of the program
    int inner_last = 0;
    /// Whether it is part of what its steps are shown to consist of. Within a step that runs bodies
    /// no times are known: it is shown as at its fullest moment.
    bool is_shown = true;
  };
  /// A branch or the body of a loop.
  struct Body {
    std::string_view name{};  ///< "then branch"
    int around = kNoBody;     ///< the body that it is in, which comes before it
    int step = 0;             ///< of what it is in
    std::int64_t offset = 0;  ///< of its arena, in that of the program
    std::vector<Step> steps{};
  };
  const std::vector<Step>& steps_of(int body) const {
    return body == kNoBody ? steps : bodies[static_cast<std::size_t>(body)].steps;
  }
  /// The step of the program that runs a body.
  int step_around(int body) const;

  std::uint64_t id = 0;
  std::int64_t peak = 0;
  std::int64_t arena = 0;
  std::uint32_t origin = 0;
  std::vector<Buffer> buffers{};
  std::vector<Step> steps{};  ///< none: not known
  std::vector<Body> bodies{};
  std::int64_t resident = 0;  ///< bytes of outputs
};

/// The plans of a recording, as their definitions come. Nothing of what these say is trusted.
class PlanDefinitions {
 public:
  /// False if it is damaged.
  bool read_plan(const DefinitionHead& head, const std::byte* payload);
  bool read_steps(const DefinitionHead& head, const std::byte* payload);
  bool read_body(const DefinitionHead& head, const std::byte* payload);

  /// All of which the head is known, with texts of `strings`, which stay where they are.
  std::vector<RecordedPlan> plans(const std::vector<std::string>& strings) const;

 private:
  /// Of a program or a body.
  struct Part {
    std::map<std::uint32_t, std::vector<PlanBuffer>> buffers{};        // by piece
    std::map<std::uint32_t, std::vector<RecordedPlan::Step>> steps{};  // by the first one's number
    std::vector<RecordedPlan::Step> all_steps() const;
  };
  struct Raw {
    PlanHead head{};
    std::int64_t resident = 0;
    std::map<std::uint32_t, Part> parts{};  // 0: the program, then bodies
    std::map<std::uint32_t, PlanBody> bodies{};
  };
  static RecordedPlan plan_of(const Raw& raw, const std::vector<std::string>& strings);

  std::map<std::uint64_t, Raw> raw_;  // by id
};

}  // namespace tenure::profile
