# SPDX-License-Identifier: Apache-2.0
_corescale_completion() {
    local IFS=$'
'
    COMPREPLY=( $( env COMP_WORDS="${COMP_WORDS[*]}" \
                   COMP_CWORD=$COMP_CWORD \
                   _CORESCALE_COMPLETE=complete_bash $1 ) )
    return 0
}

complete -o default -F _corescale_completion corescale
