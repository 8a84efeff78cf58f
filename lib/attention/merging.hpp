// A value laid over another one of its field, so that no part of an object is dropped unsaid. Not for users of the library.
#pragma once

#include "attention/fields.hpp"

namespace attnprobe::attention {

/// An object, "none" and the values of fields without an object form replace what is below. Any other value sets its own members
/// of an object and keeps the rest, or is refused (Field::is_whole_word). Arrays are the cross product.
Json laid_over(const Field& field, const JsonView& lower, const JsonView& upper);

/// `members` set in the value below, the others of which stay; of the field alone where `lower` is none. As short as an option has it.
/// Throws for members that contradict each other.
Json with_members(const Field& field, const JsonView* lower, const JsonView& members);

}  // namespace attnprobe::attention
