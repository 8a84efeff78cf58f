# Completion of attnprobe in fish; the program offers the words, files stay.
complete -c attnprobe -a '(set -l line (commandline -opc) (commandline -ct); $line[1] completion words -- $line[2..] 2>/dev/null)'
