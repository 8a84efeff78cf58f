# Completion of attnprobe in bash: commands and options as the program's own --help says them, files otherwise.
_attnprobe() {
  local word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} command=probe
  [[ ${COMP_WORDS[1]} == -* ]] || command=${COMP_WORDS[1]}
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$("$program" "$command" --help 2>/dev/null | grep -oE -- '(^|[ ,])--?[a-zA-Z][a-zA-Z0-9-]*' | tr -d ' ,' | sort -u)" -- "$word")
  elif ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "$("$program" --help 2>/dev/null | awk '/^Subcommands:/ { on = 1; next } /^[^ ]/ { on = 0 } on && /^  [a-z]/ { print $1 }')" -- "$word")
  fi
}
complete -o default -F _attnprobe attnprobe
