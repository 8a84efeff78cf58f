// What plans did that they should not, as an errata file of cudnn-frontend (CUDNN_ERRATA_JSON_FILE).
//
// Who obeys such a file: a program that calls check_errata() for each plan (cudnn_frontend_Errata.h), as PyTorch does
// for convolutions but not for attention. cudnn-frontend 1.32 calls it nowhere itself, not in plans.h either, so a
// program that has its attention from the graph API must call it, or give the `plan_name` of each rule to
// Graph::deselect_engines(), which looks for it in the plan's name as text.
#pragma once

#include <string>

#include "graph/op_graph.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::report {

/// How cudnn-frontend writes an operation graph's tag. With the operations' names: the v0.x API, and the graph API up
/// to 1.17. With nothing but the underscore after each: the graph API since 1.18, whose nodes no longer set them. (Both
/// compared with what 1.17.0 and 1.23.0 make of random configs.)
enum class TagForm { names, underscores };

/// The tag of this graph in cudnn-frontend, OperationGraph::getTag():
/// "Matmul_MUL_Reduction_SUB_…_Matmul_", or as many underscores. Operations that cudnn-frontend adds as
/// raw descriptors leave no trace in it (the unified SDPA operation, softmax, band masks, block scales),
/// so the tag of a graph with nothing else is "". A load of a paged cache has no name in either form.
std::string tag_of(const graph::OpGraph& graph, TagForm form);

/// A tag's engine config in cudnn-frontend, Graph::get_plan_name_at_index():
/// "eng5_k14=2_k24=31", knobs by cudnnBackendKnobType_t.
std::string plan_name(int64_t engine, const probe::Knobs& knobs);

/// {"version": 1, "rules": […], "not_expressible": […]}: the engine configs whose plan crashed when it was
/// built, or whose run.status is crashed, timeout, wrong_result or cuda_error, each once for a graph tag, cuDNN version
/// and SM, and then in both forms of the tag.
///
/// A rule has what check_errata() reads (operation, engine, knob, cudnn_version_start and the
/// exclusive cudnn_version_end, compared with the version of the headers that the program was
/// compiled with), and for people: rule_id, arch (in the format's old documentation; no
/// version reads it), plan_name, seen. `engine` is a number, as it is since 0.4.
///
/// The format cannot say everything, and a rule blocks more than was seen to fail: every shape, data type, layout and
/// GPU; every graph of the same tag, which for TagForm::underscores is every graph of as many operations; and values
/// that begin with the one meant, since knobs are found as text ("k24=3" in "k24=31"; an engine config without knob
/// choices: the whole engine). `also_blocks` counts, by plan name, what ran right in these very results and would be
/// blocked too. Graphs whose tag is "" cannot be named at all: not_expressible.
Json errata(const Results& results);

}  // namespace attnprobe::report
