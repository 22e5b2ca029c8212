# fish completion of gpusched. The program itself provides the candidates; if it
# has none, file names are offered.

function __gpusched_complete
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    set -l found ($typed[1] __complete $typed[2..-1] "$current" 2>/dev/null)
    if string match -q \t'command *' -- $found[1]
        # The job's own command begins with that word.
        set -l first (math (string replace \t'command ' '' -- $found[1]) + 2)
        set -l own
        if test $first -le (count $typed)
            set own (string escape -- $typed[$first..-1])
        end
        complete -C (string join ' ' -- $own "$current")
    else if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path "$current"
    end
end

complete -c gpusched -f -a '(__gpusched_complete)'
