#include "base/dynamic_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include "base/error.hpp"

namespace attnprobe {

DynamicLibrary::DynamicLibrary(const std::filesystem::path& path, int flags) {
  if (void* handle = dlopen(path.c_str(), RTLD_NOW | flags)) handle_ = {handle, dlclose};
}

const DynamicLibrary& DynamicLibrary::keep() const {
  // Opens a second handle of the same library and never closes it.
  if (handle_) dlopen(path().c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  return *this;
}

std::filesystem::path DynamicLibrary::path() const {
  const link_map* map = nullptr;
  if (!handle_ || dlinfo(handle_.get(), RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return {};
  return map->l_name;
}

void* DynamicLibrary::find(const char* symbol) const {
  return handle_ ? dlsym(handle_.get(), symbol) : nullptr;
}

void DynamicLibrary::lacks(const char* symbol, const std::string& hint) const {
  throw Error(ErrorKind::environment,
              fmt::format("{} has no {}{}{}", path().string(), symbol, hint.empty() ? "" : ": ", hint));
}

std::string loader_words() {
  const char* words = dlerror();
  return words == nullptr ? "unknown reason" : words;
}

}  // namespace attnprobe
