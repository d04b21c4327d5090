# bash completion for gpu-tracker: eval "$(gpu-tracker completion bash)"
_gpu_tracker() {
    local word=${COMP_WORDS[COMP_CWORD]#=} kind IFS=$'\n'
    {
        read -r kind
        mapfile -t COMPREPLY
    } < <(command gpu-tracker complete bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
    [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == *[=\<\>] ]] && compopt -o nospace 2>/dev/null
    [[ $word == @* ]] && compopt +o filenames 2>/dev/null
    case $kind in
        files | arguments*) COMPREPLY+=($(compgen -f -- "$word")) ;;
        command*) COMPREPLY=($(compgen -c -- "$word")) ;;
        pids) COMPREPLY=($(cd /proc && compgen -G "${word}[0-9]*"; cd /proc && compgen -G "$word")) ;;
    esac
}
complete -o filenames -F _gpu_tracker gpu-tracker
