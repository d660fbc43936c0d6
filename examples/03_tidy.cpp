// Scopes: what is made inside is disposed at the end, also when handles to it remain.

#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tenure/tenure.h"

using namespace tenure;

namespace {

void heading(const char* text) { std::cout << "\n-- " << text << '\n'; }

void print_live(const char* when) {
  std::cout << "live tensors " << when << ": " << memory().tensors << '\n';
}

/// Plain structs are looked into; so are vectors, maps, pairs, tuples, arrays and optionals.
struct Moments {
  Tensor mean;
  Tensor deviation;
};

Moments moments(const Tensor& x) {
  return tidy([&] {
    const Tensor mean = tenure::mean(x);
    const Tensor centred = x - mean;
    const Tensor variance = tenure::mean(square(centred));
    print_live("inside");
    return Moments{.mean = mean, .deviation = sqrt(variance)};
  });
}

void results_leave() {
  heading("what is returned leaves the scope, the rest is disposed");
  const Tensor x = tensor({1.0, 2.0, 3.0, 4.0});
  const Moments m = moments(x);
  print_live("outside");
  std::cout << "mean " << m.mean << ", deviation " << m.deviation << '\n';

  const auto parts = tidy([&] {
    const Tensor doubled = x * 2;
    return std::map<std::string, std::vector<Tensor>>{{"sum", {sum(doubled)}},
                                                      {"ends", {max(doubled), min(doubled)}}};
  });
  std::cout << "a map of vectors: " << parts.at("sum")[0] << ", " << parts.at("ends")[0] << '\n';
}

void handles_outside_do_not_matter() {
  heading("a handle outside does not keep the data; keep() does");
  Tensor lost;
  Tensor kept;
  {
    const Scope scope;  // tidy() as an object
    lost = ones({3});
    kept = keep(zeros({3}));
  }
  std::cout << "lost: " << lost << "\nkept: " << kept << '\n';
  try {
    sum(lost);
  } catch (const DisposedError& error) {
    std::cout << error.what() << '\n';
  }
}

void scopes_nest() {
  heading("scopes nest: a result belongs to the next scope out");
  Tensor seen;
  const Tensor outer = tidy([&] {
    const Tensor inner = tidy([] { return ones({2}) + 1; });
    seen = inner;
    print_live("between the scopes");
    return inner * 10;
  });
  std::cout << "outer result " << outer << ", inner result " << seen << '\n';
}

void exceptions() {
  heading("an exception cleans up as well");
  try {
    tidy([] {
      const Tensor x = ones({1000});
      print_live("before");
      throw std::runtime_error("a step failed");
    });
  } catch (const std::runtime_error& error) {
    std::cout << error.what() << '\n';
  }
  print_live("after");
}

void threads() {
  heading("a scope is its thread's own");
  Tensor from_thread;
  tidy([&] {
    const Tensor local = ones({2});
    std::thread worker([&] { from_thread = local + 1; });  // made on the other thread
    worker.join();
  });
  std::cout << "made by the other thread: " << from_thread << '\n';
}

}  // namespace

int main() {
  results_leave();
  handles_outside_do_not_matter();
  scopes_nest();
  exceptions();
  threads();
  heading("at the end");
  print_live("when all handles are gone");
}
