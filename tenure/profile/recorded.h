#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/profile/format.h"
#include "tenure/profile/profile.h"
#include "tenure/profile/recorded_plans.h"
#include "tenure/profile/recording_input.h"
#include "tenure/profile/symbols.h"

namespace tenure::profile {

/// Where something was made or done. Everything may be empty: then it is not known. The texts are
/// the recording's, many origins have the same.
struct Origin {
  std::string_view op{};
  std::string_view file{};
  std::uint32_t line = 0;
  std::string_view scope{};
  std::uint32_t stack = 0;  ///< of the calls that led there; 0: not recorded
  /// "step at train.cpp:41": the innermost of these calls from another line than this one.
  std::string_view caller{};
};

/// "train.cpp:12", without directories; "unknown" where there is no file, and the file alone
/// where it has no lines, as what is not the program's own.
std::string place_text(const Origin& origin);
/// "step at train.cpp:41"; the function alone where its line is not known.
std::string to_string(const CallFrame& call);
/// Whether a call is made at the line of an origin.
bool is_at(const CallFrame& call, const Origin& origin);
/// Of the calls that led to an origin, the outermost first: the innermost from another line than
/// this one; nullptr if there is none.
const CallFrame* caller_of(const Origin& origin, std::span<const CallFrame* const> calls);

/// What is known of a tensor's elements.
struct RecordedSpec {
  int dtype = -1;  ///< a DType; -1: unknown
  std::vector<std::int64_t> shape{};
};
/// "float32[8, 4]".
std::string to_string(const RecordedSpec& layout);

/// One event, as format.h describes it.
struct Event {
  EventKind kind{};
  std::uint8_t tag = 0;
  std::uint16_t extra = 0;
  std::uint32_t thread = 0;
  std::uint32_t life = 0;  ///< which of the threads that had this number
  std::int64_t time_ns = 0;
  std::uint64_t subject = 0;
  std::uint64_t third = 0;
  std::uint64_t fourth = 0;
};

/// A recording as it lies in its file: all that can be read of it.
class Recorded {
 public:
  /// Reads a file. What is damaged or cut off is left out and counted. Throws ProfileError if it is
  /// no recording, one of a newer version, or cannot be read.
  explicit Recorded(const std::string& path);
  Recorded(Recorded&&) = default;
  Recorded& operator=(Recorded&&) = default;

  std::string path{};
  std::string program{};
  std::string library{};  ///< version of Tenure that wrote it
  std::uint32_t pid = 0;
  std::int64_t started_ns = 0;  ///< since 1970
  std::int64_t duration_ns = 0;
  std::int64_t base_bytes = 0;  ///< live when the events begin
  bool finished = false;        ///< false: the program was killed, or is still running
  std::uint64_t dropped = 0;    ///< events that found no room
  std::uint64_t recycled = 0;   ///< chunks of the oldest events that gave way to newer ones
  /// When history begins, if older events gave way: all that was live then is known from there on,
  /// unless the next says otherwise.
  std::int64_t horizon_ns = 0;
  /// False: who made what is older than that is not known, as it was never told anew.
  bool is_known_from_before = true;
  std::uint64_t damaged = 0;  ///< chunks that are damaged or cut off
  /// Whether all is there that the program told until its recording ended, but for what found no
  /// room or gave way.
  bool is_complete() const { return finished && damaged == 0; }
  std::uint64_t events = 0;

  const std::string& string(std::uint64_t number) const;
  const Origin& origin(std::uint64_t number) const;
  std::size_t origins() const { return origins_.size(); }
  /// Equal for origins with the same op.
  std::uint32_t op_number(std::uint64_t origin) const;
  const RecordedSpec& layout(std::uint64_t number) const;
  /// The program's calls that led to an origin, the outermost first; none where they were not
  /// recorded. In symbols.cpp is how they get names.
  std::vector<const CallFrame*> calls(const Origin& origin) const;
  /// Whether all tensors have their calls, or only some of each line (History::sampled).
  bool has_stacks() const { return has_stacks_; }
  /// As calls(), for each of these stacks. It may take a second.
  NamedCalls names_of(std::span<const std::uint32_t> stacks) const;
  const std::vector<RecordedPlan>& plans() const { return plans_; }

  /// All events of all threads by time, those before the horizon too that tell of what was live
  /// then. Stops where `visit` returns false. What was overwritten
  /// since the file was looked through, as in a recording that goes on, is left out. In
  /// recorded_events.cpp.
  void for_each(const std::function<bool(const Event&)>& visit) const;

 private:
  /// Events of one chunk.
  struct Piece {
    std::uint64_t place = 0;  ///< of its chunk in the file
    std::size_t length = 0;   ///< of the payload
    std::uint64_t events = 0;
    std::uint32_t thread = 0;
    std::uint32_t life = 0;
    std::uint64_t sequence = 0;
    std::int64_t time_ns = 0;
    std::uint64_t checksum = 0;
    std::vector<std::byte> payload{};  ///< of a chunk that was being written: it may change
  };
  class Cursor;
  void read_header();
  void read_horizon();
  void begin_with_census();
  /// Whether what was read of a chunk belongs together.
  bool is_stable(std::uint64_t place, std::span<const std::byte> chunk) const;
  /// A chunk as it was at one moment; how many of its bytes there are.
  std::size_t read_stable(std::uint64_t place, std::span<std::byte> chunk);
  void read_chunk(std::uint64_t place, std::span<const std::byte> chunk);
  void read_definitions(std::span<const std::byte> payload);
  void read_definition(const DefinitionHead& head, const std::byte* payload);
  // These say whether it is well-formed.
  void add_piece(Piece piece, std::span<const std::byte> payload);
  void note_census(const std::byte* event);
  struct RawPlan;
  void check_references();
  void name_callers();

  std::shared_ptr<const RecordingInput> input_;
  std::uint64_t told_bytes_ = 0;  // that the file has, by its header
  std::int64_t oldest_ns_ = 0;    // from here on no events are missing
  struct Census {
    std::int64_t began_ns;
    std::int64_t ended_ns;
    std::int64_t live_bytes;
  };
  std::vector<Census> censuses_;
  int patience_ = 200;                              // how often to look again
  std::vector<Piece> pieces_;                       // by thread and then sequence
  std::map<std::uint64_t, std::size_t> sequences_;  // -> piece
  std::set<std::uint64_t> broken_;                  // sequences whose checksum does not match
  std::vector<std::string> strings_;
  struct RawOrigin {
    std::uint32_t op = 0;
    std::uint32_t file = 0;
    std::uint32_t line = 0;
    std::uint32_t scope = 0;
    std::uint32_t stack = 0;
  };
  std::vector<RawOrigin> raw_origins_;
  std::vector<Origin> origins_;
  std::vector<RecordedSpec> layouts_;
  std::vector<Module> modules_;
  std::vector<std::uint32_t> module_paths_;  // strings, by module
  std::vector<std::vector<ModuleAddress>> stacks_;
  bool has_stacks_ = false;
  NamedCalls calls_;
  std::vector<std::string> callers_;  // by origin
  PlanDefinitions plan_definitions_;
  std::vector<RecordedPlan> plans_;
};

}  // namespace tenure::profile
