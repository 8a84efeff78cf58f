// A cuDNN for the first question: brought where none is here, if the user wants that.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/version.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::app {

/// --fetch; without it ATTNPROBE_FETCH counts: always, never, or else a terminal is asked.
void add_fetch_option(CLI::App& command, bool& fetch);

struct WantedCudnn {
  std::vector<std::string> words;             ///< of --cudnn; "" for the one at hand
  std::vector<rules::ChosenGate> frameworks;  ///< of the one at hand it is the release that these pin
  bool fetch = false;                         ///< --fetch
  bool compiles = false;                      ///< plans were asked for, which up to 9.20 needs NVRTC
};

/// What could not be had.
struct MissingCudnn {
  CudnnVersion version;
  std::string tried;  ///< "cuDNN 9.20 cannot be fetched: …"
};

/// Fetches what is not here where --fetch, ATTNPROBE_FETCH=always or the user at the terminal says so; NVRTC likewise. None where
/// every word is here, or where fetching was not asked for or declined: the question itself then fails and says what is
/// missing. Throws Error(usage) for another value of ATTNPROBE_FETCH.
std::optional<MissingCudnn> bring_cudnn(const WantedCudnn& wanted);

/// The same where no rule can answer instead: throws Error(environment) for what could not be had.
void require_cudnn(const WantedCudnn& wanted);

/// 12 for a driver that knows no CUDA 13, else 13.
int cuda_of_driver();

}  // namespace attnprobe::app
