# fish completion for gpu-tracker: gpu-tracker completion fish | source
function _gpu_tracker
    set -l words (commandline -opc)[2..-1]
    set -l word (commandline -ct)
    set -l lines (command gpu-tracker complete fish $words "$word" 2>/dev/null)
    switch "$lines[1]"
        case files
            set -l option (string match -r -- '^-[^=]*=' "$word")
            printf '%s\n' "$option"(__fish_complete_path (string replace -- "$option" '' "$word"))
        case pids
            __fish_complete_pids
        case 'command *' 'arguments *'
            set -l command $words[(math 1 + (string split ' ' $lines[1])[2])..-1] "$word"
            complete -C "$command"
    end
    test (count $lines) -gt 1; and printf '%s\n' $lines[2..-1]
end
complete -c gpu-tracker -f -a '(_gpu_tracker)'
