#include "bench/report.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "bench/contest.h"
#include "bench/floors.h"
#include "bench/peer_onednn.h"
#include "bench/peer_torch.h"
#include "tenure/kernels/instruction_set.h"

namespace tenure::bench {
namespace {

/// Four digits, however large.
std::string number(double value) {
  const double size = value < 0 ? -value : value;
  if (value == 0 || size >= 1000) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}", value, size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

/// As the system calls it.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != line.npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace

void print_header(const Options& options) {
  const std::string torch = torch_description();
  fmt::print("Tenure: {} threads, {}, {}\n", options.threads, name_of(instruction_set()),
             processor());
  fmt::print("peers:  {}; {}\n", torch.empty() ? "no libtorch" : torch, onednn_description());
  const auto rate = [&](const Entrant& entrant) {
    return entrant.amount / median_seconds({entrant.work}, options.rounds)[0] / 1e9;
  };
  fmt::print("floors: {:.0f} GFLOP/s of FMA on 1 thread, {:.0f} on {}; copies at {:.1f} GB/s\n",
             rate(fma_peak(1)), rate(fma_peak(options.threads)), options.threads,
             rate(copy_bandwidth()));
  fmt::print(
      "A ratio above 1 means that Tenure is ahead; against a floor it is the share reached.\n\n");
}

void print_columns() {
  fmt::print("{:<34} {:>8} {:>10}  {:<19} {:>10} {:>7}  {:<8} {}\n", "figure", "unit", "Tenure",
             "peer", "peer's", "ratio", "target", "met");
}

void print(const Figure& figure) {
  const bool has_peer = !figure.peer.empty();
  const char* met = !figure.met ? "" : *figure.met ? "yes" : "NO";
  fmt::print("{:<34} {:>8} {:>10}  {:<19} {:>10} {:>7}  {:<8} {:<3} {}\n", figure.name, figure.unit,
             number(figure.value), figure.peer, has_peer ? number(figure.peer_value) : "",
             has_peer ? fmt::format("{:.2f}", figure.ratio) : "", figure.target, met, figure.note);
  std::fflush(stdout);
}

void write_json(const std::vector<Figure>& figures, const std::string& machine,
                const std::string& path) {
  auto list = nlohmann::ordered_json::array();
  for (const Figure& figure : figures) {
    nlohmann::ordered_json entry{{"group", figure.group},
                                 {"name", figure.name},
                                 {"threads", figure.threads},
                                 {"unit", figure.unit},
                                 {"value", figure.value}};
    const bool has_peer = !figure.peer.empty();
    entry["peer"] = has_peer ? nlohmann::ordered_json(figure.peer) : nullptr;
    entry["peer_value"] = has_peer ? nlohmann::ordered_json(figure.peer_value) : nullptr;
    entry["ratio"] = has_peer ? nlohmann::ordered_json(figure.ratio) : nullptr;
    list.push_back(entry);
  }
  const nlohmann::ordered_json report{{"machine",
                                       {{"name", machine.empty() ? processor() : machine},
                                        {"processor", processor()},
                                        {"cpus", std::thread::hardware_concurrency()},
                                        {"simd", name_of(instruction_set())}}},
                                      {"figures", list}};
  std::ofstream file(path);
  file << report.dump(2) << '\n';
  if (!file) throw std::runtime_error("cannot write " + path);
}

}  // namespace tenure::bench
