// Shared libraries that are loaded at run time, and the functions in them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace attnprobe {

/// A handle of dlopen. It is closed when the last copy goes, unless keep() was called.
class DynamicLibrary {
 public:
  DynamicLibrary() = default;
  /// dlopen with RTLD_NOW and `flags` (RTLD_GLOBAL, RTLD_NOLOAD). Empty where the loader has no such library;
  /// loader_words() then says why.
  explicit DynamicLibrary(const std::filesystem::path& path, int flags = 0);

  explicit operator bool() const { return handle_ != nullptr; }

  /// Never closes it. For CUDA's and cuDNN's libraries, which do not survive a dlclose: they leave threads and exit
  /// handlers behind, and function pointers outlive this object.
  const DynamicLibrary& keep() const;

  /// As the loader found it, symbolic links not resolved; "" where it does not say.
  std::filesystem::path path() const;

  /// The address, or nullptr.
  void* find(const char* symbol) const;

  /// Whether the library has the function, which is stored then.
  template <class F>
  bool find(const char* symbol, F*& function) const {
    function = reinterpret_cast<F*>(find(symbol));
    return function != nullptr;
  }

  /// Throws Error(environment) naming library and symbol, `hint` behind them.
  template <class F>
  void bind(const char* symbol, F*& function, const std::string& hint = "") const {
    if (!find(symbol, function)) lacks(symbol, hint);
  }

 private:
  [[noreturn]] void lacks(const char* symbol, const std::string& hint) const;

  std::shared_ptr<void> handle_;
};

/// Why the last DynamicLibrary of this thread is empty, in the loader's words.
std::string loader_words();

}  // namespace attnprobe
