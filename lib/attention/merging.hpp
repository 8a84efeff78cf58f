// Merges a value into another value of its field, without silently dropping part of an object. Internal.
#pragma once

#include "attention/fields.hpp"

namespace attnprobe::attention {

/// An object, "none" or a value of a field without an object form replaces the lower value. Any other value sets its
/// own members and keeps the rest, or is refused (Field::is_whole_word). Arrays make a cross product.
Json laid_over(const Field& field, const JsonView& lower, const JsonView& upper);

/// Sets `members` in the lower value and keeps its other members; starts from the default if `lower` is none. The
/// result has the short form of options. Throws if members contradict each other.
Json with_members(const Field& field, const JsonView* lower, const JsonView& members);

}  // namespace attnprobe::attention
