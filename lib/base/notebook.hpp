// Jupyter notebooks as the text that they show; input_text() reads them so.
#pragma once

#include <string>
#include <string_view>

namespace attnprobe {

/// Whether a document that begins so may be a notebook.
bool may_be_notebook(std::string_view beginning);

/// The cells of a notebook, sources and outputs; "" for other documents.
std::string text_of_notebook(std::string_view text);

}  // namespace attnprobe
