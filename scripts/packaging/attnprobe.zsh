#compdef attnprobe
# Completion of attnprobe in zsh: commands and options with what the program's own --help says of them, files otherwise.
_attnprobe_help() {
  local program=$words[1] command=probe help
  if (( CURRENT > 2 )) && [[ $words[2] != -* ]]; then command=$words[2]; fi
  help=$($program $command --help 2>/dev/null)
  # Of "cudnn fetch", the help of fetch.
  if [[ $help == *Subcommands:* && $CURRENT -gt 3 && $words[3] != -* ]]; then help=$($program $command $words[3] --help 2>/dev/null); fi
  print -r -- $help
}
_attnprobe_commands() {
  awk '/^Subcommands:/ { on = 1; next } /^[^ ]/ { on = 0 } on && /^  [a-z]/ { name = $1; sub(/^ +[^ ]+ */, ""); print name ":" $0 }'
}
_attnprobe_options() {
  awk '/^  -/ { show(); line = $0; sub(/^ +/, "", line); names = line; sub(/ .*/, "", names); gsub(/\{false\}/, "", names)
      at = match(line, /  +/); text = at ? substr(line, at + RLENGTH) : "" }
    /^          +[^ ]/ && text == "" { sub(/^ +/, ""); text = $0 }  # a long name has it in the next line
    END { show() }
    function show(  count, each, i) { count = split(names, each, ","); for (i = 1; i <= count; ++i) print each[i] ":" text; names = "" }'
}
_attnprobe() {
  local -a found
  if [[ $PREFIX == -* ]]; then
    found=(${(f)"$(_attnprobe_help | _attnprobe_options)"})
    _describe -o option found
  elif (( CURRENT == 2 )); then
    found=(${(f)"$($words[1] --help 2>/dev/null | _attnprobe_commands)"})
    _describe command found
  else
    (( CURRENT == 3 )) && found=(${(f)"$(_attnprobe_help | _attnprobe_commands)"})
    if (( $#found )); then _describe command found; else _files; fi
  fi
}
if [[ $funcstack[1] == _attnprobe ]]; then _attnprobe "$@"; else compdef _attnprobe attnprobe; fi
