#include "report/model/measurements.hpp"

namespace attnprobe::report {

const std::vector<Measurement>& measurements() {
  using T = probe::TimeFindings;
  static const std::vector<Measurement> rows{
      {"median_ms", &T::median_ms, "", "{:.4g} ms", 1, true, "ms", "ms"},
      {"noise", &T::noise, "stdev / mean", " +-{:.1f}%", 100},
      {"hot_ms", &T::hot_ms, "back to back, L2 not flushed", ", hot {:.4g} ms"},
      {"graph_ms", &T::graph_ms, "replayed from a CUDA graph", ", CUDA graph {:.4g} ms"},
      {"tflops", &T::tflops, "", "", 1, true, "tflops", "TFLOP/s"},
      {"percent_of_peak", &T::percent_of_peak, "", "", 1, true, "peak", "% of peak"},
      {"overhead_ms", &T::overhead_ms,
       "overhead of the events, measured around an empty kernel (or a small memset if the plan begins with one); already subtracted from the times",
       ""},
      {"enqueue_ms", &T::enqueue_ms, "host time of cudnnBackendExecute", ""},
  };
  return rows;
}

}  // namespace attnprobe::report
