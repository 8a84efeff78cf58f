// What parent and worker say to each other: messages (message.hpp), each with "do" (request) or "answer".
//
//   {"do": "inspect_driver"}                             -> {"answer": "driver", "driver": DriverInfo}
//   {"do": "open", "cudnn": PATH, "properties": JSON|null} -> {"answer": "opened", "library": LibraryInfo}
//   {"do": "walk"} and OpGraph, WalkOptions as bytes -> {"answer": "walk"} and WalkFindings as bytes
//   {"do": "build", "graph": OpGraph, "engine": N, "knobs": {…}, "keep": BOOL} -> {"answer": "built", "plan": PlanFindings}
//   {"do": "run", "graph": …, "engine": …, "knobs": …, "options": RunOptions}
//          -> {"answer": "ran", "outcome": Outcome}; plans that were built are kept
//   {"do": "prepare"} -> {"answer": "rests"}: what running plans needs is made ready (kernels of our own are compiled)
//   {"do": "rest"} -> {"answer": "rests"}: the GPU's memory but for the plans is given back
//   {"do": "device_properties"}  (after "open" on a device) -> {"answer": "device_properties", "json": TEXT}
//
// Before each step that may take it down the worker notes {"stage": Stage}, and in a walk the findings so far as bytes
// (Notes in process.hpp): the parent reads them if the worker is lost.
//
// "properties" null opens the first GPU that CUDA shows to the process. Anything that cannot be done is
// {"answer": "error", "kind": ErrorKind, "message": TEXT}.
#pragma once

#include "base/enum_names.hpp"
#include "base/error.hpp"

namespace attnprobe {
template <>
struct EnumNames<ErrorKind> {
  static constexpr std::array<std::pair<ErrorKind, std::string_view>, 5> table{{
      {ErrorKind::usage, "usage"},
      {ErrorKind::environment, "environment"},
      {ErrorKind::cudnn, "cudnn"},
      {ErrorKind::cuda, "cuda"},
      {ErrorKind::internal, "internal"},
  }};
};
}  // namespace attnprobe

namespace attnprobe::worker {

/// The worker's side: answers requests on `socket` until it closes. Returns the process's exit status.
int serve(int socket);

}  // namespace attnprobe::worker
