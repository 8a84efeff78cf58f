// Who refused, from a text's sentences, for people.
#pragma once

#include <string>

#include "diagnose/text_answer.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::report {

/// The first refusal with all there is to say, and the others shortly. Precondition: there is one.
std::string refusals_text(const diagnose::TextAnswer& answer, const TextStyle& style);

/// Each refusal in two lines, from the one with that index on; "" if there is none.
std::string other_refusals_text(const diagnose::TextAnswer& answer, size_t first, const TextStyle& style);

}  // namespace attnprobe::report
