// Converts Jupyter notebooks to their visible text, for input_text().
#pragma once

#include <string>
#include <string_view>

namespace attnprobe {

/// Whether a document that starts like this may be a notebook.
bool may_be_notebook(std::string_view beginning);

/// The cells of a notebook, sources and outputs; "" for other documents.
std::string text_of_notebook(std::string_view text);

}  // namespace attnprobe
