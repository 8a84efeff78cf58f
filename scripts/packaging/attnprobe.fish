# attnprobe completion for fish: the program offers words, and file names still work.
complete -c attnprobe -a '(set -l line (commandline -opc) (commandline -ct); $line[1] completion words -- $line[2..] 2>/dev/null)'
