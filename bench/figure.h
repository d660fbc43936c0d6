#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tenure::bench {

/// One measured number, beside a peer's where there is one.
struct Figure {
  std::string group{};
  std::string name{};
  std::string unit{};
  double value = 0;
  std::string peer{};
  double peer_value = 0;
  double ratio = 0;  ///< how much better Tenure is: above 1 it is ahead, whatever the unit
  std::string target{};
  std::optional<bool> met{};
  std::string note{};
  int threads = 0;
};

struct Options {
  int rounds = 51;                       ///< fewer where a case takes long
  int threads = 0;                       ///< of each side
  bool compiled = false;                 ///< PyTorch compiles its steps, too
  std::int64_t iterations = 10'000'000;  ///< of the loop in which nothing may grow
};

struct Case {
  std::string group;
  std::string name;
  std::function<std::vector<Figure>(const Options&)> run;
};

// One function per group; each appends its cases.
void add_tiny_cases(std::vector<Case>& cases);
void add_nn_more_cases(std::vector<Case>& cases);
void add_fourier_cases(std::vector<Case>& cases);
void add_elementwise_cases(std::vector<Case>& cases);
void add_matmul_cases(std::vector<Case>& cases);
void add_linalg_cases(std::vector<Case>& cases);
void add_reduce_cases(std::vector<Case>& cases);
void add_memory_cases(std::vector<Case>& cases);
void add_graph_cases(std::vector<Case>& cases);
void add_train_cases(std::vector<Case>& cases);
void add_nn_cases(std::vector<Case>& cases);
void add_gradient_cases(std::vector<Case>& cases);
void add_profile_cases(std::vector<Case>& cases);
void add_threads_cases(std::vector<Case>& cases);

}  // namespace tenure::bench
