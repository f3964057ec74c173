# SPDX-License-Identifier: GPL-3.0-or-later
# Completion for fish. Commands and options are those that --help lists, so they are never out of date.
function __kvolsim_commands
    echo help
    kvolsim --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
end
function __kvolsim_options
    set -l words (commandline -opc)
    kvolsim $words[2] --help 2>/dev/null | sed -n 's/^ *\(-[a-zA-Z?], \)\{0,1\}\(--[a-z-]*\).*/\2/p'
end
complete -c kvolsim -n __fish_use_subcommand -f -a '(__kvolsim_commands)'
complete -c kvolsim -n 'not __fish_use_subcommand' -a '(__kvolsim_options)'
