#include "site/addresses.hpp"

#include <algorithm>
#include <array>

#include "base/digest.hpp"

namespace attnprobe::site {
namespace {

constexpr size_t longest = 100, digits = 8;
constexpr std::array<std::string_view, 3> own_folders{"badge", "cudnn", "gpu"};

// Characters without a special meaning to file systems and servers.
bool is_kept(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
         std::string_view("._=,-").find(c) != std::string_view::npos;
}

std::string with_digest(std::string_view text, std::string_view name) {
  std::string address;
  for (const char c : text) {
    const bool is_capital = c >= 'A' && c <= 'Z';
    const char kept = is_capital ? static_cast<char>(c - 'A' + 'a') : is_kept(c) ? c : '-';
    if (kept != '-' || (!address.empty() && address.back() != '-')) address += kept;
    if (address.size() + digits + 1 >= longest) break;
  }
  address.erase(0, std::min(address.find_first_not_of(".-"), address.size()));
  if (!address.empty() && address.back() != '-') address += '-';
  return address + digest(name).substr(0, digits);
}

}  // namespace

std::string address_of(std::string_view name) {
  // Writes a cross product's final "[…]" with "~", which is not special to servers, nor to shells inside a word.
  std::string plain(name);
  const size_t open = name.find('[');
  if (open != std::string_view::npos && open != 0 && name.ends_with(']')) {
    plain.pop_back();
    plain[open] = '~';
  }
  const bool is_plain = !plain.empty() && plain.size() <= longest && plain.front() != '.' && plain.front() != '-' &&
                        plain.back() != '.' && std::all_of(plain.begin(), plain.end(), [&](const char& c) {
                          return is_kept(c) || (c == '~' && static_cast<size_t>(&c - plain.data()) == open);
                        });
  return is_plain ? plain : with_digest(plain, name);
}

std::string config_address(std::string_view name) {
  const std::string address = address_of(name);
  const bool is_taken = std::find(own_folders.begin(), own_folders.end(), address) != own_folders.end();
  const bool is_file = address == "404.html" || address == "index.html" || address == "index.json" ||
                       address == "schema.json" || address == "site.css" || address == "site.js";
  return is_taken || is_file ? with_digest(address, name) : address;
}

}  // namespace attnprobe::site
