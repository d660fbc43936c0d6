#include "tenure/graph/ir/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <exception>
#include <limits>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "tenure/base/error.h"
#include "tenure/graph/ir/probe_sizes.h"
#include "tenure/memory/out_of_memory.h"

namespace tenure::graph {
namespace {

using ops::Spec;

/// How many of the first candidates tell whether ranks depend on sizes.
constexpr std::size_t kTelling = 5;
/// Beyond it, sizes are tried for what is written out only if something names them.
constexpr std::int64_t kAffordable = 128;
/// Of so many unknown dimensions all combinations of candidates are tried.
constexpr std::size_t kTriedWhole = 2;

/// Whether the answer takes programs: of a composite, a branch or a loop.
bool is_written_down(const ops::OpRecord& op, const ops::Attributes& attributes) {
  if (op.expand != nullptr) return true;
  for (int i = 0; i < attributes.size(); ++i) {
    if (std::holds_alternative<std::shared_ptr<const ops::Opaque>>(attributes[i])) return true;
  }
  return false;
}

/// One question after the other, and what holds in all answers.
class Probe {
 public:
  Probe(const ShapeRule& rule, std::span<const ArgumentSpec> arguments, const char* op, Site site)
      : rule_(rule), arguments_(arguments.begin(), arguments.end()), op_(op), site_(site) {
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const Shape& shape = arguments_[i].spec.shape;
      for (int d = 0; d < shape.size(); ++d) {
        if (shape[d] == kUnknown) places_.push_back({.argument = i, .dimension = d});
      }
    }
  }

  using Sizes = std::vector<std::int64_t>;  // of the unknown dimensions

  /// Nothing is left to find out: no size holds for all.
  bool is_settled() const {
    if (!answer_) return false;
    for (const Spec& spec : *answer_) {
      for (const std::int64_t d : spec.shape) {
        if (d != kUnknown) return false;
      }
    }
    return true;
  }
  std::size_t unknown() const { return places_.size(); }
  const std::vector<Spec>& answer() const { return *answer_; }
  bool has_answer() const { return answer_.has_value(); }

  /// False if the rule refuses these sizes.
  bool ask(const Sizes& sizes) {
    std::vector<Spec> specs;
    try {
      specs = specs_for(sizes);
    } catch (const OutOfMemory&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const DTypeError&) {
      if (!answer_) throw;  // whatever the sizes
      return false;
    } catch (
        const std::exception&) {  // a function of the user's may refuse sizes by one of its own
      if (refusal_ == nullptr) refusal_ = std::current_exception();
      return false;
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (!answer_) taken_.push_back({.size = sizes[i]});
      taken_[i].is_only = taken_[i].is_only && taken_[i].size == sizes[i];
    }
    merge(std::move(specs));
    return true;
  }

  /// The only size that a dimension was found to have, if there is one.
  std::optional<std::int64_t> only_size(std::size_t slot) const {
    return taken_[slot].is_only ? std::optional(taken_[slot].size) : std::nullopt;
  }
  /// Says nothing of any size.
  void doubt() {
    for (Spec& spec : *answer_) spec.shape = Dims::filled(spec.shape.size(), kUnknown);
  }

  /// Throws what the rule threw: for sizes that show in its text, if that is `affordable`.
  void refuse(bool affordable) {
    try {
      if (!affordable) std::rethrow_exception(refusal_);
      static_cast<void>(specs_for(Sizes(unknown(), kStandIn)));
    } catch (Error& error) {
      if (std::string(error.what()).find(std::to_string(kStandIn)) != std::string::npos) {
        error.add_line(fmt::format("{} stands for a size that is known only in a run", kStandIn));
      }
      if (unknown() > kTriedWhole) error.add_line(kNotAllTried);
      throw;
    }
  }

  /// The size that a dimension of another argument has in the place of an unknown one, counted from
  /// the left or the right.
  Sizes sizes_of(std::size_t argument, bool from_right) const {
    const Shape& other = arguments_[argument].spec.shape;
    Sizes sizes;
    for (const Place& place : places_) {
      const int rank = arguments_[place.argument].spec.shape.size();
      const int d = from_right ? place.dimension + other.size() - rank : place.dimension;
      sizes.push_back(d >= 0 && d < other.size() && given(argument, d) >= 0 ? given(argument, d)
                                                                            : 2);
    }
    return sizes;
  }
  /// One size for all dimensions of an argument, another for all others.
  Sizes sizes_by_argument(std::size_t argument, std::int64_t one, std::int64_t rest) const {
    Sizes sizes;
    for (const Place& place : places_) sizes.push_back(place.argument == argument ? one : rest);
    return sizes;
  }
  std::size_t arguments() const { return arguments_.size(); }

 private:
  struct Place {
    std::size_t argument;
    int dimension;
  };

  /// What was given, though a question may stand there now.
  std::int64_t given(std::size_t argument, int dimension) const {
    for (const Place& place : places_) {
      if (place.argument == argument && place.dimension == dimension) return kUnknown;
    }
    return arguments_[argument].spec.shape[dimension];
  }

  std::vector<Spec> specs_for(const Sizes& sizes) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      arguments_[places_[i].argument].spec.shape[places_[i].dimension] = sizes[i];
    }
    return rule_(arguments_);
  }

  void merge(std::vector<Spec> specs) {
    if (!answer_) {
      answer_ = std::move(specs);
      return;
    }
    bool fits = specs.size() == answer_->size();
    for (std::size_t i = 0; i < specs.size() && fits; ++i) {
      Shape& shape = (*answer_)[i].shape;
      fits = shape.size() == specs[i].shape.size() && (*answer_)[i].dtype == specs[i].dtype;
      for (int d = 0; d < shape.size() && fits; ++d) {
        if (shape[d] != specs[i].shape[d]) shape[d] = kUnknown;
      }
    }
    if (fits) return;
    throw GraphError(fmt::format("{}: how many results of which ranks it has depends on sizes that "
                                 "are known only when the graph runs; say which axes are meant, or "
                                 "let the sizes be known",
                                 op_),
                     site_);
  }

  const ShapeRule& rule_;
  std::vector<ArgumentSpec> arguments_;
  std::vector<Place> places_;
  struct Taken {
    std::int64_t size;
    bool is_only = true;
  };
  std::vector<Taken> taken_;  // of each unknown dimension
  std::optional<std::vector<Spec>> answer_;
  std::exception_ptr refusal_;  // the first
  const char* op_;
  Site site_;
};

/// Sizes that the rule takes, each one of a few: all combinations, or if those are many, some.
std::optional<Probe::Sizes> find_among(Probe& probe, std::span<const std::int64_t> candidates) {
  constexpr std::size_t kTries = 4000;
  std::size_t combinations = 1;
  for (std::size_t slot = 0; slot < probe.unknown() && combinations <= kTries; ++slot) {
    combinations *= candidates.size();
  }
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < std::min(combinations, kTries); ++i) {
    Probe::Sizes sizes;
    std::size_t rest = i;
    for (std::size_t slot = 0; slot < probe.unknown(); ++slot) {
      const std::size_t choice = combinations <= kTries ? rest : random();
      sizes.push_back(candidates[choice % candidates.size()]);
      rest /= candidates.size();
    }
    if (probe.ask(sizes)) return sizes;
  }
  return std::nullopt;
}

/// Sizes that the rule takes, where it does not take equal ones everywhere.
std::optional<Probe::Sizes> find_unequal(Probe& probe, std::span<const std::int64_t> candidates,
                                         const InPlay& found) {
  for (std::size_t i = 0; i < probe.arguments(); ++i) {
    for (const bool from_right : {true, false}) {
      const Probe::Sizes sizes = probe.sizes_of(i, from_right);
      if (probe.ask(sizes)) return sizes;
    }
  }
  constexpr std::size_t kMany = 24;  // where not all are tried
  if (probe.unknown() > kTriedWhole) {
    candidates = candidates.first(std::min(candidates.size(), kMany));
  }
  for (std::size_t i = 0; i < probe.arguments() && probe.unknown() > kTriedWhole; ++i) {
    for (const std::int64_t rest : candidates) {
      for (const std::int64_t one : candidates) {
        const Probe::Sizes sizes = probe.sizes_by_argument(i, one, rest);
        if (probe.ask(sizes)) return sizes;
      }
    }
  }
  for (std::size_t slot = 0; slot < probe.unknown(); ++slot) {
    for (const std::int64_t rest : candidates) {
      for (const std::int64_t one : candidates) {
        Probe::Sizes sizes(probe.unknown(), rest);
        sizes[slot] = one;
        if (probe.ask(sizes)) return sizes;
      }
    }
    if (probe.unknown() == kTriedWhole) return std::nullopt;  // all pairs were among them
  }
  // Most that have to fit something have to fit a size that is known.
  Candidates few;
  for (const std::int64_t size : found.sizes) few.add(size);
  for (const std::int64_t size : {2, 1}) few.add(size);
  if (auto sizes = find_among(probe, few.all())) return sizes;
  return find_among(probe, candidates);
}

/// Changes one size at a time.
template <class IsAsked>
void vary_each(Probe& probe, const Probe::Sizes& base, std::span<const std::int64_t> candidates,
               const IsAsked& is_asked) {
  for (std::size_t slot = 0; slot < probe.unknown() && !probe.is_settled(); ++slot) {
    Probe::Sizes sizes = base;
    for (const std::int64_t size : candidates) {
      sizes[slot] = size;
      if (is_asked(size)) probe.ask(sizes);
    }
  }
}

/// Changes sizes of several dimensions alike: of any several, if there are few.
template <class IsAsked>
void vary_groups(Probe& probe, const Probe::Sizes& base, std::span<const std::int64_t> candidates,
                 const IsAsked& is_asked) {
  constexpr std::size_t kFew = 6;
  candidates = candidates.first(std::min(candidates.size(), kSmallSizes.size()));
  const std::size_t n = std::min(probe.unknown(), kFew);
  for (std::size_t group = 1; group < std::size_t{1} << n; ++group) {
    if (std::has_single_bit(group) && n == probe.unknown()) continue;  // vary_each() has
    Probe::Sizes sizes = base;
    for (const std::int64_t size : candidates) {
      if (probe.is_settled()) return;
      for (std::size_t slot = 0; slot < sizes.size(); ++slot) {
        // Beyond those that are combined, each goes with one of them.
        if ((group >> slot % n & 1) != 0) sizes[slot] = size;
      }
      if (is_asked(size)) probe.ask(sizes);
    }
  }
}

/// Dimensions for which one size alone was found.
std::vector<std::size_t> fixed(const Probe& probe) {
  std::vector<std::size_t> slots;
  for (std::size_t slot = 0; slot < probe.unknown() && probe.has_answer(); ++slot) {
    if (probe.only_size(slot)) slots.push_back(slot);
  }
  return slots;
}

/// Those of them that have it not because of something else's.
std::vector<std::size_t> stuck(const Probe& probe, const InPlay& found) {
  std::vector<std::size_t> slots = fixed(probe);
  std::erase_if(slots,
                [&](std::size_t slot) { return is_explained(found, *probe.only_size(slot)); });
  return slots;
}

/// Changes the sizes of dimensions together with each other one's, as those of a reshape change.
void vary_pairs(Probe& probe, const Probe::Sizes& base, std::span<const std::size_t> slots,
                std::span<const std::int64_t> candidates, std::size_t tried) {
  const auto sizes_for = [&](std::size_t slot) {
    Candidates chosen;
    chosen.add_around(base[slot]);
    for (std::size_t i = 0; i < std::min(candidates.size(), tried); ++i) chosen.add(candidates[i]);
    return chosen.all();
  };
  for (const std::size_t a : slots) {
    const std::vector<std::int64_t> of_a = sizes_for(a);
    for (std::size_t b = 0; b < probe.unknown(); ++b) {
      if (a == b) continue;
      Probe::Sizes sizes = base;
      for (const std::int64_t second : sizes_for(b)) {
        for (const std::int64_t first : of_a) {
          if (probe.is_settled()) return;
          sizes[a] = first;
          sizes[b] = second;
          probe.ask(sizes);
        }
      }
    }
  }
}

}  // namespace

std::vector<Spec> probe(const ShapeRule& rule, std::span<const ArgumentSpec> arguments,
                        const ops::Attributes& attributes, const ops::OpRecord& op, Site site) {
  Probe probe(rule, arguments, op.name, site);
  const InPlay found = in_play(arguments, attributes);
  std::vector<std::int64_t> candidates = candidates_for(found);
  const bool is_costly = is_written_down(op, attributes);
  if (is_costly) std::erase_if(candidates, [](std::int64_t size) { return size >= kStandIn; });
  const auto is_asked = [&](std::int64_t size) {
    return !is_costly || !probe.has_answer() || size <= kAffordable || is_named(found, size);
  };
  std::optional<Probe::Sizes> first;
  std::optional<Probe::Sizes> last;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (i >= kTelling && probe.is_settled()) break;
    const std::int64_t size = candidates[i];
    const Probe::Sizes sizes(probe.unknown(), size);
    if (!is_asked(size) || !probe.ask(sizes)) continue;
    if (!first) first = sizes;
    last = sizes;
  }
  if (probe.unknown() > 1) {
    if (!first) first = find_unequal(probe, candidates, found);
    if (first) vary_each(probe, *first, candidates, is_asked);
    if (last && !is_costly) vary_each(probe, *last, candidates, is_asked);
    // A size that each of several keeps, when it alone changes, they may change together: sizes
    // that have to be equal, or broadcast.
    if (first) vary_groups(probe, *first, candidates, is_asked);
    if (first) vary_pairs(probe, *first, fixed(probe), candidates, 8);
    if (first) vary_pairs(probe, *first, stuck(probe, found), candidates, 16);
  }
  if (!probe.has_answer()) probe.refuse(!is_costly);
  if (probe.unknown() > 1 && !stuck(probe, found).empty()) probe.doubt();
  return probe.answer();
}

}  // namespace tenure::graph
