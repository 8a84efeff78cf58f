// The protocol of parent and worker: messages (message.hpp), each with "do" (request) or "answer".
//
//   {"do": "inspect_driver"}                             -> {"answer": "driver", "driver": DriverInfo}
//   {"do": "open", "cudnn": PATH, "properties": JSON|null} -> {"answer": "opened", "library": LibraryInfo}
//   {"do": "walk"} and OpGraph, WalkOptions as bytes -> {"answer": "walk"} and WalkFindings as bytes
//   {"do": "build", "graph": OpGraph, "engine": N, "knobs": {…}, "keep": BOOL} -> {"answer": "built", "plan":
//   PlanFindings}
//   {"do": "run", "graph": …, "engine": …, "knobs": …, "options": RunOptions}
//          -> {"answer": "ran", "outcome": Outcome}; the worker keeps built plans
//   {"do": "prepare"} -> {"answer": "rests"}: compiles attnprobe's own kernels for running plans
//   {"do": "rest"} -> {"answer": "rests"}: frees the GPU's memory except for the plans
//   {"do": "device_properties"}  (after "open" on a device) -> {"answer": "device_properties", "json": TEXT}
//
// Before each step that may crash it, the worker notes {"stage": Stage}. In a walk it adds the findings so far as bytes
// (Notes in process.hpp). The parent reads them if the worker is lost.
//
// "properties" null opens the first GPU that CUDA shows to the process. A failed request is answered by {"answer":
// "error", "kind": ErrorKind, "message": TEXT}.
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
