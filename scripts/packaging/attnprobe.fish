# Completion of attnprobe in fish: commands and options with what the program's own --help says of them, files otherwise.
function __attnprobe_help
    set -l words (commandline -opc)
    set -l command probe
    if set -q words[2]; and not string match -q -- '-*' $words[2]
        set command $words[2]
    end
    set -l help ($words[1] $command --help 2>/dev/null)
    # Of "cudnn fetch", the help of fetch.
    if contains Subcommands: $help; and set -q words[3]; and not string match -q -- '-*' $words[3]
        set help ($words[1] $command $words[3] --help 2>/dev/null)
    end
    printf '%s\n' $help
end

function __attnprobe_commands
    if test (count (commandline -opc)) -eq 1
        eval (commandline -opc)[1] --help 2>/dev/null
    else if test (count (commandline -opc)) -eq 2
        __attnprobe_help
    end | awk '/^Subcommands:/ { on = 1; next } /^[^ ]/ { on = 0 } on && /^  [a-z]/ { name = $1; sub(/^ +[^ ]+ */, ""); print name "\t" $0 }'
end

function __attnprobe_options
    __attnprobe_help | awk '/^  -/ { show(); line = $0; sub(/^ +/, "", line); names = line; sub(/ .*/, "", names); gsub(/\{false\}/, "", names)
          at = match(line, /  +/); text = at ? substr(line, at + RLENGTH) : "" }
        /^          +[^ ]/ && text == "" { sub(/^ +/, ""); text = $0 }  # a long name has it in the next line
        END { show() }
        function show(  count, each, i) { count = split(names, each, ","); for (i = 1; i <= count; ++i) print each[i] "\t" text; names = "" }'
end

complete -c attnprobe -n 'string match -q -- "-*" (commandline -ct)' -a '(__attnprobe_options)'
complete -c attnprobe -n 'not string match -q -- "-*" (commandline -ct); and test (count (commandline -opc)) -le 2' -a '(__attnprobe_commands)'
