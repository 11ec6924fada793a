"""`queue-agent completion`: scripts that let shells complete commands, options and names.

Scripts of typer's own give bash words that end at colons, of which every name has one, and have zsh evaluate names as
code. These get plain lines from `completing`, and leave quoting to the shell.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Annotated, Final

import typer

EXAMPLES: Final = """
Examples:

eval "$(queue-agent completion bash)"  ·  in ~/.bashrc

eval "$(queue-agent completion zsh)"  ·  in ~/.zshrc, after compinit

queue-agent completion fish > ~/.config/fish/completions/queue-agent.fish

Names of queues and consumers come from the agent that --agent, --config or QUEUE_AGENT_ADDRESS names, if it answers
within a second.
"""


class Shell(enum.Enum):
    """A shell with a script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


SCRIPTS: Final[Mapping[Shell, str]] = {
    Shell.BASH: """
_queue_agent_completion() {
    local line=${COMP_LINE:0:COMP_POINT} found prefix=
    local word=${line##*[[:space:]]}
    COMPREPLY=()
    # Readline takes what follows the last colon for the word.
    case $COMP_WORDBREAKS in *:*) prefix=${word%"${word##*:}"} ;; esac
    while IFS= read -r found; do
        [[ -n $found ]] || continue
        printf -v found %q "${found%%$'\\t'*}"  # a name is never run
        COMPREPLY+=("${found#"$prefix"}")
    done < <(env _QUEUE_AGENT_COMPLETE="$line" "$1" 2>/dev/null)
}
complete -o default -F _queue_agent_completion queue-agent
""",
    Shell.ZSH: """
#compdef queue-agent
_queue_agent() {
    local -a found
    found=("${(@f)$(env _QUEUE_AGENT_COMPLETE="${(j: :)words[1,CURRENT]}" $words[1] 2>/dev/null)}")
    found=("${(@)found%%$'\\t'*}")
    if [[ -n $found[1] ]]; then compadd -- $found; else _files; fi
}
compdef _queue_agent queue-agent
""",
    Shell.FISH: """
function __queue_agent_find
    set -g __queue_agent_found (env _QUEUE_AGENT_COMPLETE=(commandline -cp) queue-agent 2>/dev/null \\
        | string match --invert '')
    test (count $__queue_agent_found) -gt 0
end
complete --command queue-agent --no-files --condition __queue_agent_find --arguments '$__queue_agent_found'
""",
}


def command(shell: Annotated[Shell, typer.Argument(help="Which shell.")]) -> None:
    """Print a script that lets a shell complete commands and names: of queues, consumers and clusters."""
    typer.echo(SCRIPTS[shell].strip())
