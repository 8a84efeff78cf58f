// Faults of plans, as an errata file for cudnn-frontend (CUDNN_ERRATA_JSON_FILE).
//
// Only a program that calls check_errata() for each plan (cudnn_frontend_Errata.h) obeys such a file. PyTorch does for
// convolutions, but not for attention. cudnn-frontend 1.32 itself never calls it, not in plans.h either. So a program
// with attention from the graph API must call it. Or it passes the `plan_name` of each rule to
// Graph::deselect_engines(), which searches for it in the plan's name.
#pragma once

#include <string>

#include "graph/op_graph.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::report {

/// The two forms of an operation graph's tag in cudnn-frontend. With the operations' names: the v0.x API, and the graph
/// API up to 1.17. With only the underscore after each: the graph API since 1.18, whose nodes no longer set names.
/// (Both were compared with the tags of 1.17.0 and 1.23.0 for random configs.)
enum class TagForm { names, underscores };

/// The tag of this graph in cudnn-frontend, OperationGraph::getTag(): "Matmul_MUL_Reduction_SUB_…_Matmul_", or as many
/// underscores. Operations that cudnn-frontend adds as raw descriptors (the unified SDPA operation, softmax, band
/// masks, block scales) leave no trace in it. A graph with nothing else has the tag "". A load of a paged cache has no
/// name in either form.
std::string tag_of(const graph::OpGraph& graph, TagForm form);

/// A tag's engine config in cudnn-frontend, Graph::get_plan_name_at_index(): "eng5_k14=2_k24=31", with knobs by
/// cudnnBackendKnobType_t.
std::string plan_name(int64_t engine, const probe::Knobs& knobs);

/// {"version": 1, "rules": […], "not_expressible": […]}: the engine configs with a plan that crashed when it was built,
/// or with run.status crashed, timeout, wrong_result or cuda_error. Each is listed once per graph tag, cuDNN version
/// and SM, in both forms of the tag.
///
/// A rule has what check_errata() reads: operation, engine, knob, cudnn_version_start and the exclusive
/// cudnn_version_end. These are compared with the version of the headers that the program was compiled with. For
/// readers it has rule_id, arch (in the format's old documentation; no version reads it), plan_name, seen. `engine` is
/// a number, as it has been since 0.4.
///
/// The format is limited, and a rule blocks more than the failing case. It blocks every shape, data type, layout and
/// GPU, and every graph of the same tag. For TagForm::underscores that is every graph with as many operations. It also
/// blocks values that begin with the given one, since knobs are found as text: "k24=3" in "k24=31". An engine config
/// without knob choices blocks the whole engine. `also_blocks` counts, by plan name, what ran right in these results
/// and would be blocked too. Graphs with tag "" cannot be named at all: not_expressible.
Json errata(const Results& results);

}  // namespace attnprobe::report
