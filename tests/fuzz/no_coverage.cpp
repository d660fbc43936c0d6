// In programs that are not fuzzed nobody asks which ways they went; and libFuzzer does not ask for
// comparisons of fractions, of which GCC tells.

extern "C" {
[[gnu::weak]] void __sanitizer_cov_trace_pc();
[[gnu::weak]] void __sanitizer_cov_trace_cmpf(float a, float b);
[[gnu::weak]] void __sanitizer_cov_trace_cmpd(double a, double b);
}

void __sanitizer_cov_trace_pc() {}
void __sanitizer_cov_trace_cmpf(float, float) {}
void __sanitizer_cov_trace_cmpd(double, double) {}
