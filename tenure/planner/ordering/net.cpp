#include "tenure/planner/ordering/net.h"

#include <algorithm>
#include <utility>

namespace tenure::planner::ordering {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

std::vector<std::vector<int>> transposed(const std::vector<std::vector<int>>& rows) {
  std::vector<std::vector<int>> result(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const int j : rows[i]) result[at(j)].push_back(static_cast<int>(i));
  }
  return result;
}

/// Where `item` is in `sorted`, or -1.
int index_of(const std::vector<int>& sorted, int item) {
  const auto found = std::lower_bound(sorted.begin(), sorted.end(), item);
  if (found == sorted.end() || *found != item) return -1;
  return static_cast<int>(found - sorted.begin());
}

}  // namespace

Rows::Rows(const std::vector<std::vector<int>>& rows) {
  begin_.reserve(rows.size() + 1);
  begin_.push_back(0);
  for (const std::vector<int>& row : rows) {
    items_.insert(items_.end(), row.begin(), row.end());
    begin_.push_back(items_.size());
  }
}

Net make_net(const Dag& dag) {
  const std::size_t size = dag.nodes.size();
  Net net;
  net.size = static_cast<int>(size);
  net.base = dag.resident;
  net.members.assign(size, 1);
  net.done.assign(size, 0);
  std::vector<std::vector<int>> before(size);
  std::vector<std::vector<int>> touches(size);
  std::vector<std::vector<int>> reuses(size);
  for (std::size_t v = 0; v < size; ++v) {
    const Node& node = dag.nodes[v];
    net.bytes.push_back(node.bytes);
    net.own.push_back(node.bytes);
    net.workspace.push_back(node.workspace);
    if (node.output) ++net.members[v];
    before[v] = touches[v] = node.inputs;
    touches[v].push_back(static_cast<int>(v));
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const int input = node.inputs[i];
      ++net.members[at(input)];
      const bool fits = dag.nodes[at(input)].bytes >= node.bytes;
      if (i < 32 && (node.overwrites >> i & 1) != 0 && fits) reuses[v].push_back(input);
    }
  }
  net.before = Rows(before);
  net.after = Rows(transposed(before));
  net.touches = Rows(touches);
  net.reuses = Rows(reuses);
  return net;
}

Net reversed(const Net& net) {
  Net result = net;
  std::swap(result.before, result.after);
  std::vector<int> inside(net.bytes.size(), 0);
  for (int v = 0; v < net.size; ++v) {
    for (const int e : net.touches[v]) ++inside[at(e)];
  }
  for (std::size_t e = 0; e < inside.size(); ++e) {
    result.done[e] = net.members[e] - net.done[e] - inside[e];
  }
  result.reversed = !net.reversed;
  return result;
}

Walk::Walk(const Net& net)
    : net_(&net), done_(net.done), waits_for_(at(net.size)), live_(net.base) {
  for (int v = 0; v < net.size; ++v) waits_for_[at(v)] = static_cast<int>(net.before[v].size());
  for (std::size_t e = 0; e < done_.size(); ++e) {
    if (done_[e] == 0 || done_[e] == net.members[e]) continue;
    live_ += net.bytes[e];
    begun_ += net.bytes[e] / net.members[e] * done_[e];
  }
}

std::vector<int> Walk::ready_at_start() const {
  std::vector<int> ready;
  for (int v = 0; v < net_->size; ++v) {
    if (waits_for_[at(v)] == 0) ready.push_back(v);
  }
  return ready;
}

Walk::Step Walk::look(int step) const {
  Step result{live_ + net_->workspace[at(step)], live_, begun_};
  for (const int e : net_->touches[step]) {
    const int done = done_[at(e)];
    const int members = net_->members[at(e)];
    const std::int64_t bytes = net_->bytes[at(e)];
    const std::int64_t share = bytes / members;
    if (done == 0) {
      result.during += bytes;
      if (members > 1) {
        result.after += bytes;
        result.begun += share;
      }
    } else if (done + 1 == members) {
      result.after -= bytes;
      result.begun -= share * done;
    } else {
      result.begun += share;
    }
  }
  // It may take over memory that nobody reads after it. Backwards, that is to be the first.
  for (const int e : net_->reuses[step]) {
    if (net_->reversed ? done_[at(e)] == 0 : done_[at(e)] + 1 == net_->members[at(e)]) {
      result.during -= net_->own[at(step)];
      break;
    }
  }
  return result;
}

Walk::Step Walk::run(int step, std::vector<int>& ready) {
  const Step result = look(step);
  for (const int e : net_->touches[step]) ++done_[at(e)];
  live_ = result.after;
  begun_ = result.begun;
  for (const int next : net_->after[step]) {
    if (--waits_for_[at(next)] == 0) ready.push_back(next);
  }
  return result;
}

std::vector<Walk::Step> profile_of(const Net& net, std::span<const int> order) {
  Walk walk(net);
  std::vector<int> ready;
  std::vector<Walk::Step> profile;
  profile.reserve(order.size());
  for (const int v : order) {
    profile.push_back(walk.run(v, ready));
    ready.clear();
  }
  return profile;
}

std::int64_t peak_of(const Net& net, std::span<const int> order) {
  std::int64_t peak = Walk(net).live();
  for (const Walk::Step& step : profile_of(net, order)) peak = std::max(peak, step.during);
  return peak;
}

Net part_of(const Net& net, const Walk& walk, std::span<const int> steps) {
  std::vector<std::pair<int, int>> places;  // step and its place in `steps`
  std::vector<int> nets;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    places.emplace_back(steps[i], static_cast<int>(i));
    nets.insert(nets.end(), net.touches[steps[i]].begin(), net.touches[steps[i]].end());
  }
  std::sort(places.begin(), places.end());
  std::sort(nets.begin(), nets.end());
  std::vector<int> inside;  // members of each net among the steps
  for (std::size_t i = 0; i < nets.size(); ++i) {
    if (i == 0 || nets[i] != nets[i - 1]) inside.push_back(0);
    ++inside.back();
  }
  nets.erase(std::unique(nets.begin(), nets.end()), nets.end());

  Net part;
  part.size = static_cast<int>(steps.size());
  part.reversed = net.reversed;
  part.base = walk.live();
  for (std::size_t e = 0; e < nets.size(); ++e) {
    const int done = walk.done(nets[e]);
    const bool opened = done > 0;
    const bool stays = done + inside[e] < net.members[at(nets[e])];
    part.bytes.push_back(net.bytes[at(nets[e])]);
    part.members.push_back(inside[e] + (opened ? 1 : 0) + (stays ? 1 : 0));
    part.done.push_back(opened ? 1 : 0);
    if (opened) part.base -= part.bytes.back();
  }
  std::vector<std::vector<int>> before(steps.size());
  std::vector<std::vector<int>> touches(steps.size());
  std::vector<std::vector<int>> reuses(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    part.own.push_back(net.own[at(steps[i])]);
    part.workspace.push_back(net.workspace[at(steps[i])]);
    for (const int e : net.touches[steps[i]]) touches[i].push_back(index_of(nets, e));
    for (const int e : net.reuses[steps[i]]) reuses[i].push_back(index_of(nets, e));
    for (const int v : net.before[steps[i]]) {
      const auto found = std::lower_bound(places.begin(), places.end(), std::pair(v, 0));
      if (found != places.end() && found->first == v) before[i].push_back(found->second);
    }
  }
  part.before = Rows(before);
  part.after = Rows(transposed(before));
  part.touches = Rows(touches);
  part.reuses = Rows(reuses);
  return part;
}

}  // namespace tenure::planner::ordering
