// A folder with a matrix file, for `attnprobe matrix`.
#pragma once

#include <fmt/format.h>

#include <fstream>
#include <string>

#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test {

inline const std::string three_configs = R"({
  "targets": ["h200", "t4"],
  "defaults": {"heads": 8, "seqlen": 256, "head_dim": 64, "expect": {"t4": "unsupported", "default": "supported"}},
  "configs": [{"name": "plain"}, {"name": "causal", "mask": "causal"}, {"name": "odd, \"head\"", "head_dim": 60, "expect": "any"}]
})";

class MatrixFolder {
 public:
  explicit MatrixFolder(const std::string& document = three_configs) { write("matrix.json", document); }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  Run run(const std::string& out, const std::string& options = "--no-cache",
          const Environment& environment = {}) const {
    return run_attnprobe(fmt::format("matrix {} --out {} {}", path("matrix.json"), path(out), options), environment);
  }
  std::string text(const std::string& name) const { return read_text(path(name)); }
  void check_equal(const std::string& a, const std::string& b) const {
    for (const char* file : {"cells.jsonl", "report.json", "report.csv", "report.xml", "report.md", "index.html"}) {
      INFO(file);
      CHECK(text(a + "/" + file) == text(b + "/" + file));
    }
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace attnprobe::test
