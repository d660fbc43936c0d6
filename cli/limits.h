#pragma once

#include "cli/recording.h"

// What `tenure top` says of budgets, refusals and pools.

namespace tenure::cli {

void print_budgets(const profile::History& history, std::size_t rows);
void print_refusals(const profile::History& history, std::size_t rows);
void print_pools(const profile::History& history, std::size_t rows);

Json refusals_json(const profile::History& history, std::size_t rows);
/// {"budgets": [...], "refusals": [...], "pool": [...], "segments": [...]}.
Json limits_json(const profile::History& history, std::size_t rows);

}  // namespace tenure::cli
