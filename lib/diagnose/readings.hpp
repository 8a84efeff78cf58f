// How words are read that no sentence of the catalogue knows: by rule, which the answer says. Data is in readings.json, built
// into the library.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/text_facts.hpp"
#include "rules/bug_sightings.hpp"

namespace re2 {
class RE2;
}

namespace attnprobe::diagnose {

/// RE2's pattern, searched anywhere and without regard to case; compiled when it is read.
using Words = std::shared_ptr<const re2::RE2>;

/// An attention, or who calls one.
struct NamedAttention {
  std::string name;  ///< "SageAttention"
  Words words;
  bool apart = false;    ///< it never calls cuDNN
  bool chooses = false;  ///< it calls attentions of others, and chooses among them
  std::string instead;   ///< how to go around it; "" where nothing general is known
  std::string limits;    ///< what it takes and what not, with the release that was read; "" where nothing was
  bool serves = false;   ///< a server: what a model computes with is not the asker's to change
};

/// Kernels that are for some GPUs alone.
struct KernelOfGpus {
  std::string name;  ///< "FlashAttention 3"
  Words words;
  int least = 0, most = 0;  ///< compute capabilities: 90
  std::string runs_on;      ///< the same in words, with how it is known
};

/// What an error may be about.
struct Matter {
  std::string id;  ///< "head_dim"
  Words words;
  std::string what;       ///< in words, to follow "about": "the head dimension"
  std::string step;       ///< what to do
  std::string in_server;  ///< what to do where a server computes; "": the same
  bool in_names = false;  ///< its words count in the names of files, too
};

/// A failure that is not an attention's.
struct OtherFailure {
  std::string id;
  Words words;             ///< in its line
  Words near, unless;      ///< somewhere in the text, and nowhere in it; none where empty
  bool only_last = false;  ///< where the text ends with it
  Words source_line;       ///< in place of words: the innermost line of source of the last exception
  std::string what;        ///< to follow "That is": "a matrix product of cuBLAS's"
  std::string step;
};

/// What people tell of an attention where no library says anything.
struct Symptom {
  std::string id;
  std::vector<Words> all;  ///< each of them has to be there, within so many bytes
  size_t within = 0;
  Words unless;                      ///< not among them; none where empty
  bool is_question = false;          ///< asked, and not complained of
  int64_t weight = 1;                ///< of one mention; what explains another symptom weighs more
  std::vector<rules::Seen> effects;  ///< of known bugs that show so
  std::string headline, means, next, also;
  struct Cause {
    std::string text;
    Words when;  ///< that make it likelier; none: nothing does
    Words only;  ///< without which it is none; none: it always may be
  };
  std::vector<Cause> causes;  ///< the likeliest first, where the text tells nothing of them
};

/// What a program or its environment sets that decides which attention is taken.
struct Setting {
  Words words;
  std::string does;
};

/// A library whose releases are told apart.
struct ReleasedLibrary {
  std::string name;
  Words words;         ///< its release is the first group
  std::string newest;  ///< that was read
};

struct Readings {
  std::vector<NamedAttention> programs;  ///< the most special first
  std::vector<Matter> matters;           ///< the most telling first
  std::vector<Symptom> symptoms;
  std::vector<OtherFailure> others;  ///< the most telling first
  std::vector<Setting> settings;
  std::vector<KernelOfGpus> kernels;
  std::vector<ReleasedLibrary> releases;
  /// "off", "unfused" -> program -> how that is done there; program "": where none is named.
  std::map<std::string, std::map<std::string, std::string>> ways;
  Words asks_cudnn;                       ///< in the name of whoever speaks in a sentence: its attention may be cuDNN's
  std::map<std::string, Words> features;  ///< key of a known bug's condition -> by which words a text names it
};

/// Throws Error(internal) where the data that is built in is broken.
const Readings& readings();

/// The text with each "{off}" and "{unfused}" as it is done in the first program of the facts for which it is known, and "{probe}" as the
/// command that asks cuDNN about the shape that they tell.
std::string with_ways(std::string text, const TextFacts& facts);

}  // namespace attnprobe::diagnose
