#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <exception>
#include <regex>

#include "bench/peer_torch.h"
#include "bench/planner.h"
#include "bench/report.h"
#include "tenure/kernels/parallel.h"

namespace tenure::bench {
namespace {

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  add_tiny_cases(cases);
  add_elementwise_cases(cases);
  add_matmul_cases(cases);
  add_reduce_cases(cases);
  add_linalg_cases(cases);
  add_fourier_cases(cases);
  add_memory_cases(cases);
  add_graph_cases(cases);
  add_train_cases(cases);
  add_nn_cases(cases);
  add_nn_more_cases(cases);
  add_gradient_cases(cases);
  add_profile_cases(cases);
  add_threads_cases(cases);
  add_planner_offsets_cases(cases);
  add_planner_order_cases(cases);
  add_planner_remat_cases(cases);
  return cases;
}

int run_all(int argc, char** argv) {
  Options options;
  std::vector<int> threads{num_threads()};
  std::vector<std::string> groups;
  std::string filter;
  std::string json;
  std::string machine;
  bool list = false;
  CLI::App app("Measures Tenure beside libtorch, oneDNN and the machine's limits.", "tenure_bench");
  app.add_option("groups", groups,
                 "groups to run: tiny, elementwise, matmul, linalg, reduce, fourier, memory, "
                 "graph, gradient, "
                 "nn, nn_more, planner, profile, threads, train")
      ->check(CLI::IsMember({"tiny", "elementwise", "matmul", "linalg", "reduce", "fourier",
                             "memory", "graph", "gradient", "nn", "nn_more", "planner", "profile",
                             "threads", "train"}));
  app.add_option("--filter", filter, "run the cases whose name matches this regular expression");
  app.add_option("--json", json, "write the figures to a file")->type_name("FILE");
  app.add_option("--machine", machine, "what the file calls this machine; else its processor");
  app.add_option("--rounds", options.rounds, "turns that each side takes")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--threads", threads, "threads of each side; several numbers: one after the other")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--compiled", options.compiled,
               "PyTorch of python3 also compiled, which takes long");
  app.add_option("--iterations", options.iterations, "of the loop in which nothing may grow")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--list", list, "print the names of the cases");
  CLI11_PARSE(app, argc, argv);

  std::vector<Case> cases = all_cases();
  const std::regex pattern(filter);
  std::erase_if(cases, [&](const Case& c) {
    return (!groups.empty() && std::find(groups.begin(), groups.end(), c.group) == groups.end()) ||
           !std::regex_search(c.name, pattern);
  });
  if (list) {
    for (const Case& c : cases) fmt::print("{:<12} {}\n", c.group, c.name);
    return 0;
  }
  std::vector<Figure> figures;
  for (const int n : threads) {
    options.threads = n;
    set_num_threads(n);
    set_torch_threads(n);
    print_header(options);
    print_columns();
    for (const Case& c : cases) {
      for (Figure& figure : c.run(options)) {
        print(figure);
        figure.threads = n;
        figure.group = c.group;
        figures.push_back(std::move(figure));
      }
    }
    fmt::print("\n");
  }
  const auto missed = std::count_if(figures.begin(), figures.end(),
                                    [](const Figure& f) { return f.met.has_value() && !*f.met; });
  fmt::print("{} figures, {} behind their target\n", figures.size(), missed);
  if (!json.empty()) write_json(figures, machine, json);
  return 0;
}

}  // namespace
}  // namespace tenure::bench

int main(int argc, char** argv) {
  try {
    return tenure::bench::run_all(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tenure_bench: {}\n", error.what());
    return 1;
  }
}
