#pragma once

#include <string>
#include <vector>

#include "bench/figure.h"

namespace tenure::bench {

void print_header(const Options& options);
void print_columns();
void print(const Figure& figure);

/// {machine, figures: a list of {group, name, threads, unit, value, peer, peer_value, ratio}};
/// without a peer the last three are null. An empty `machine` is called by its processor.
void write_json(const std::vector<Figure>& figures, const std::string& machine,
                const std::string& path);

}  // namespace tenure::bench
