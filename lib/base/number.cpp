#include "base/number.hpp"

#include <algorithm>

namespace attnprobe {

std::optional<int64_t> parse_size(std::string_view text) {
  std::string digits(text);
  if (digits.empty() || digits.front() == '_' || digits.back() == '_') return std::nullopt;
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  int64_t unit = 1;
  constexpr int64_t kilo = 1024;
  if (const char last = digits.back(); last == 'k' || last == 'K')
    unit = kilo;
  else if (last == 'm' || last == 'M')
    unit = kilo * kilo;
  if (unit > 1) digits.pop_back();
  if (const auto whole = parse_number<int64_t>(digits))
    return *whole < 0 ? std::nullopt : std::optional(saturated_product(*whole, unit));
  // "1e3", "1.5k"; beyond 2^53 not every integer is a double.
  constexpr double most = 9007199254740992.0;
  const auto real = parse_number<double>(digits);
  const double size = real.value_or(-1) * static_cast<double>(unit);
  if (size < 0 || size > most || size != static_cast<double>(static_cast<int64_t>(size))) return std::nullopt;
  return static_cast<int64_t>(size);
}

}  // namespace attnprobe
