// What an error's message says itself of what would be taken, and what a text sets that decides. Internal to lib/diagnose.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attnprobe::diagnose {

/// The sentence of a message that names alternatives or limits: "Supported flash-attn versions are >= 2.1.1, <= 2.8.1."; "" where none
/// does.
std::string stated_way_out(std::string_view message);

/// Settings in the text that switch an attention off or choose one, each with what it does, as causes; at most 3.
std::vector<std::string> deciding_settings(std::string_view text);

/// Without what is only named in quotes, braces and values of options: "'fa3'", "{fa4, triton}", "--attention-backend fa3".
std::string without_values(std::string text);

/// Whether the message tells its reader to set, give or call something: "Please specify … as environment variable".
bool orders_something(std::string_view message);

}  // namespace attnprobe::diagnose
