#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tenure/profile/queries.h"
#include "tenure/profile/text.h"

// What the commands on recordings share.

namespace tenure::cli {

using Json = nlohmann::ordered_json;

/// A recording with its history.
struct Loaded {
  explicit Loaded(const std::string& path, bool with_spans = false)
      : recorded(path), history(recorded, with_spans) {}
  profile::Recorded recorded;
  profile::History history;
};

/// Reads a recording, and says on standard error what is missing of it. Throws ProfileError.
std::unique_ptr<Loaded> load(const std::string& path, bool with_spans = false);

/// Whether something was damaged or cut off in what load() has read: then the command ends with
/// kUnanswered at best.
bool has_read_damage();

/// What a report must not pass over: cut off, damaged, dropped. Empty where all is well.
std::string shortcomings(const profile::Recorded& recorded);

/// {program, events, duration, peak, ...}.
Json summary_json(const profile::History& history);
void print_summary(const profile::History& history);

Json origin_json(const profile::Origin& origin);
/// "matmul at train.cpp:12 in model/encoder".
std::string origin_text(const profile::Origin& origin);

using profile::seconds_text;
/// "64.00 MiB", with a sign if `with_sign`.
std::string size_text(std::int64_t bytes, bool with_sign = false);
/// "1.25 GiB of 80.00 GiB taken: 768.00 MiB reserved, 512.00 MiB outside (context, libraries,
/// others)".
std::string taken_text(std::int64_t reserved, std::int64_t outside, std::int64_t total);

/// Prints JSON; bytes that are no UTF-8 are replaced.
void print_json(const Json& document);

/// Writes a file, or standard output for "-". Throws std::runtime_error.
void write_file(const std::string& path, const std::string& bytes);

profile::GroupBy group_by(const std::string& name);

}  // namespace tenure::cli
