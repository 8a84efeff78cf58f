# attnprobe completion for bash: the program offers words, and file names still work.
_attnprobe() {
  mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)
}
complete -o default -o bashdefault -F _attnprobe attnprobe
