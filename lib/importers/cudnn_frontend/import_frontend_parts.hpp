// The two kinds of graphs in cudnn-frontend's JSON.
#pragma once

#include "importers/cudnn_frontend/frontend_json.hpp"
#include "importers/cudnn_frontend/import_frontend.hpp"

namespace attnprobe::importers {

bool is_attention_tag(const std::string& tag);
/// The spec of the node at `index`. Adds notes about what does not fit to `result`, which already has versions, context
/// and stored plan. Throws Error(usage).
attention::AttentionSpec read_frontend_attention(const FrontendDocument& document, size_t index, FrontendGraph& result);

bool is_primitive_tag(const std::string& tag);
/// The graph of a document with only primitive nodes. Throws Error(usage).
graph::OpGraph read_frontend_operations(const FrontendDocument& document, FrontendGraph& result);

}  // namespace attnprobe::importers
