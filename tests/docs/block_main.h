#pragma once

// Runs one block of a document; the programs are written by tools/doc_blocks.py.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenure/tenure.h"

struct DocBlock {
  int line;
  void (*run)();
  bool throws;
};

inline int run_block(const DocBlock& block) {
  try {
    block.run();
  } catch (const tenure::Error& error) {
    if (!block.throws) {
      std::cerr << "threw: " << error.what() << '\n';
      return 1;
    }
    std::cout << error.what() << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "threw something that is not a tenure::Error: " << error.what() << '\n';
    return 1;
  }
  if (block.throws) {
    std::cerr << "did not throw a tenure::Error\n";
    return 1;
  }
  return 0;
}

inline int run_block(int argc, char** argv, std::initializer_list<DocBlock> blocks) {
  const int line = argc > 1 ? std::atoi(argv[1]) : 0;
  for (const DocBlock& block : blocks)
    if (block.line == line) return run_block(block);
  std::cerr << "no block starts at line " << line << '\n';
  return 2;
}
