#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/printable.hpp"
#include "output.hpp"

namespace attnprobe::app {
namespace {

std::string time_text(double seconds) {
  constexpr double minute = 60;
  return seconds < minute ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / minute);
}

}  // namespace

Progress::Progress(size_t total) : total_(total), on_terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::add(const answer::Answer& result) {
  const std::lock_guard lock(mutex_);
  ++done_;
  for (const auto& config : result.findings.engine_configs) {
    if (!config.plan) continue;
    ++plans_;
    runs_ += config.run ? 1 : 0;
    compile_seconds_ += config.plan->build_ms / 1e3;
  }
  gpu_seconds_ += result.findings.gpu_ms / 1e3;
  const auto now = Clock::now();
  const auto pause = on_terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10'000);
  if (now - last_ < pause) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - begun_).count();
  const double rate = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
  const std::string left = rate > 0 ? time_text(static_cast<double>(total_ - done_) / rate) : "?";
  const std::string plans =
      plans_ == 0 ? "" : fmt::format(", {} plans built{}", plans_, runs_ == 0 ? "" : fmt::format(", {} run", runs_));
  const std::string text =
      total_ == 0 ? fmt::format("{} cells, {:.0f} a second{}", done_, rate, plans)
                  : fmt::format("{}/{} cells, {:.0f} a second, {} left{}", done_, total_, rate, left, plans);
  if (on_terminal_)
    say_status(fmt::format("{}{}  {}", total_ == 0 ? "" : bar() + " ", text,
                           printable_line(fmt::format("{} on {}", result.config.spec.name, result.target.id))));
  else
    say(text + "\n");
}

void Progress::end() const {
  if (on_terminal_) say_status("");
  if (gpu_seconds_ == 0) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
  say(fmt::format("{} plans in {:.1f} s: {:.1f} s of compiling in parallel processes and {:.1f} s of GPU runs\n",
                  plans_, seconds, compile_seconds_, gpu_seconds_));
}

std::string Progress::bar() const {
  constexpr size_t width = 24;
  const size_t full = std::min(width, width * done_ / total_);
  return "[" + std::string(full, '#') + std::string(width - full, '.') + "]";
}

}  // namespace attnprobe::app
