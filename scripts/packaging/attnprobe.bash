# Completion of attnprobe in bash: commands and options as the program's own --help says them, files otherwise.
_attnprobe_help() {
  local program=${COMP_WORDS[0]} command=probe help
  [[ $COMP_CWORD -lt 2 || ${COMP_WORDS[1]} == -* ]] || command=${COMP_WORDS[1]}
  help=$("$program" "$command" --help 2>/dev/null)
  # Of "cudnn fetch", the help of fetch.
  if [[ $help == *Subcommands:* && $COMP_CWORD -gt 2 && ${COMP_WORDS[2]} != -* ]]; then help=$("$program" "$command" "${COMP_WORDS[2]}" --help 2>/dev/null); fi
  printf '%s\n' "$help"
}
_attnprobe_commands() { awk '/^Subcommands:/ { on = 1; next } /^[^ ]/ { on = 0 } on && /^  [a-z]/ { print $1 }'; }
_attnprobe() {
  local word=${COMP_WORDS[COMP_CWORD]} words=
  if [[ $word == -* ]]; then
    words=$(_attnprobe_help | grep -oE -- '^  -[^ ]+' | sed 's/{false}//; s/,/ /g')
  elif ((COMP_CWORD == 1)); then
    words=$("${COMP_WORDS[0]}" --help 2>/dev/null | _attnprobe_commands)
  elif ((COMP_CWORD == 2)); then
    words=$(_attnprobe_help | _attnprobe_commands)
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _attnprobe attnprobe
