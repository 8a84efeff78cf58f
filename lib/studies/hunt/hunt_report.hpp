// The findings of a hunt: candidates for the known bugs as JSON, and a Markdown page.
#pragma once

#include <string>

#include "studies/hunt/hunt.hpp"

namespace attnprobe::hunt {

/// For a class: the data of a known_bugs.json entry (when, experiment), and the evidence.
Json candidate_json(const Class& found, int sm);

Json to_json(const Hunt& hunt);

/// Markdown: one row per cuDNN, one row per class, and unexplained failures.
std::string page_of(const Hunt& hunt);

}  // namespace attnprobe::hunt
