// Downloads a cuDNN for the first question if none is installed and the user agrees.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/version.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::app {

/// --fetch. Without it ATTNPROBE_FETCH decides: always, never, or else a user at a terminal is asked.
void add_fetch_option(CLI::App& command, bool& fetch);

struct WantedCudnn {
  std::vector<std::string> words;             ///< of --cudnn; "" for the default
  std::vector<rules::ChosenGate> frameworks;  ///< the default is the release that these pin
  bool fetch = false;                         ///< --fetch
  bool compiles = false;                      ///< plans were requested, for which cuDNN up to 9.20 needs NVRTC
};

/// A cuDNN that could not be downloaded.
struct MissingCudnn {
  CudnnVersion version;
  std::string tried;  ///< "cuDNN 9.20 cannot be fetched: …"
};

/// Downloads missing versions, and NVRTC, if --fetch, ATTNPROBE_FETCH=always or the user at the terminal says so. None
/// if every word is installed, or if downloading was not requested or declined: the question itself then fails and says
/// what is missing. Throws Error(usage) for another value of ATTNPROBE_FETCH.
std::optional<MissingCudnn> bring_cudnn(const WantedCudnn& wanted);

/// The same if no rule can answer instead: throws Error(environment) for a cuDNN that could not be downloaded.
void require_cudnn(const WantedCudnn& wanted);

/// 12 for a driver without CUDA 13, else 13.
int cuda_of_driver();

}  // namespace attnprobe::app
