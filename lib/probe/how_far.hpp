// The stages of a question: plain enums, a part of the installed headers.
#pragma once

namespace attnprobe::probe {

/// Which engine configs are asked.
enum class Engines {
  heuristic,  ///< the heuristic modes' proposals; all engines and knobs only if none is viable
  all,        ///< also every engine by global index, with cuDNN's own knob choice
  knobs,      ///< also every engine with every combination of legal knob values
};

/// Which plans are built and run.
enum class Plans {
  none,
  first,      ///< built in order until one compiles, as in cudnn-frontend
  build,      ///< finalized: the kernel is compiled, and loaded if there is a GPU
  run,        ///< executed, verified, timed afterwards; a walk itself only builds
  run_first,  ///< built in order until one compiles, which is then run, as in a program
  automatic,  ///< run on a GPU of this machine; none on a simulated GPU
};

}  // namespace attnprobe::probe
