#compdef gpu-tracker
# zsh completion for gpu-tracker: a file _gpu-tracker in a folder of $fpath
_gpu_tracker() {
    local line entry kind
    local -a lines closed open
    lines=("${(@f)$(command gpu-tracker complete zsh "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
    kind=$lines[1]
    for line in $lines[2,-1]; do
        entry="${${line%%$'\t'*}//:/\\:}"
        [[ $line == *$'\t' ]] || entry+=":${line#*$'\t'}"
        if [[ $line == *[=\<\>]$'\t'* ]]; then open+=("$entry"); else closed+=("$entry"); fi
    done
    case $kind in
        (command*|arguments*)
            shift ${kind##* } words
            ((CURRENT -= ${kind##* }))
            _normal
            return ;;
        (pids) _pids; return ;;
    esac
    (($#closed)) && _describe -V word closed
    (($#open)) && _describe -V word open -S ''
    [[ $kind == files ]] || return
    [[ $PREFIX == -*=* ]] && compset -P 1 '*='
    _files
}
if [[ $funcstack[1] == _gpu-tracker ]]; then _gpu_tracker "$@"; else compdef _gpu_tracker gpu-tracker; fi
