#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "bench/contest.h"

namespace tenure::bench {

/// A peer failed while it took its turns.
class PeerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A python3 from the PATH that has PyTorch, in a process of its own: peer_torch.py is what it
/// runs.
class PythonPeer {
 public:
  /// nullptr if there is no such python3.
  static std::shared_ptr<PythonPeer> start(int threads);
  ~PythonPeer();
  PythonPeer(const PythonPeer&) = delete;
  PythonPeer& operator=(const PythonPeer&) = delete;

  /// "PyTorch 2.11.0"
  const std::string& description() const { return description_; }
  /// Steps of a model ("MLP", "CNN", "GPT") in a mode ("eager", "compiled"); empty if it fails to
  /// make one. The way there and back takes some microseconds, beside milliseconds.
  Work steps(const std::string& model, const std::string& mode);

 private:
  struct Process;
  explicit PythonPeer(std::unique_ptr<Process> process);

  std::unique_ptr<Process> process_;
  std::string description_;
};

}  // namespace tenure::bench
