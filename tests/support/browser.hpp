// Pages in a real browser.
#pragma once

#include <string>

#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test {

/// Runs a script that drives a headless Chromium. Exit code 77 means that Chromium is missing, which is not a failure.
inline void check_in_browser(const std::string& command) {
  const Run run = shell(command);
  INFO(run.out << run.err);
  if (run.exit_code == 77) {
    WARN("SKIPPED: no Chromium on this machine (Debian: chromium)");
    return;
  }
  CHECK(run.exit_code == 0);
}

}  // namespace attnprobe::test
