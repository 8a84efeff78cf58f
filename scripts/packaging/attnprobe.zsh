#compdef attnprobe
# attnprobe completion for zsh: the program offers words, and file names still work.
_attnprobe() {
  local -a offered
  offered=("${(@f)$("${words[1]}" completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null | sed 's/:/\\:/g; s/\t$//; s/\t/:/')}")
  [[ -n ${offered[1]} ]] && _describe -o attnprobe offered
  _files
}
if [[ ${funcstack[1]} == _attnprobe ]]; then _attnprobe "$@"; else compdef _attnprobe attnprobe; fi
