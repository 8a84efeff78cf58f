// Whose attention a text speaks of. Internal to lib/diagnose.
#pragma once

#include <string_view>

#include "diagnose/readings.hpp"

namespace attnprobe::diagnose {

/// The one that is named first; of several at one place the most special. None: null.
const NamedAttention* program_in(std::string_view text);

/// The program of the text that calls attentions of others, by its paths, commands and name. None: null.
const NamedAttention* host_in(std::string_view text);

/// The library whose limits are known that the text is about; flash-attn where only its idea is named. None: null.
const NamedAttention* with_limits(std::string_view text);

/// How to go around `program` where the text has it: by its host's own switch, where one chose it; "" where nothing is known.
std::string way_around(const NamedAttention* program, const NamedAttention* host);

}  // namespace attnprobe::diagnose
