// What a hunt found: candidates for the known bugs as JSON, and a page to read.
#pragma once

#include <string>

#include "hunt/hunt.hpp"

namespace attnprobe::hunt {

/// Of a class: what an entry of known_bugs.json needs (when, experiment), and the evidence.
Json candidate_json(const Class& found, int sm);

Json to_json(const Hunt& hunt);

/// Markdown: a row a cuDNN, a row a class, and what no condition explains.
std::string page_of(const Hunt& hunt);

}  // namespace attnprobe::hunt
