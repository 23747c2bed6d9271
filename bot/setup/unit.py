"""The user service of systemd; deploy/systemd holds the same with the usual paths."""

import os
from collections.abc import Sequence
from pathlib import Path

NAME = "auto-improve.service"
USUAL_COMMAND = ("%h/.local/bin/auto-improve", "run")
USUAL_PATH = ("%h/.local/bin", "/usr/local/bin", "/usr/bin", "/bin")

_TEMPLATE = """\
# A user service: copy to ~/.config/systemd/user/, then
#   systemctl --user daemon-reload && systemctl --user enable --now auto-improve
#   loginctl enable-linger "$USER"      (so that it runs while you are logged out)
# Settings are read from {home}/.env. `auto-improve setup` writes this file with the paths found.
[Unit]
Description=auto-improve: a coding agent that learns, driven from Telegram
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=simple
WorkingDirectory=%h
ExecStart={command}
# Service managers have a short PATH: node and Pi must be found on this one.
Environment={path}
{more}# The token can be kept out of the environment and of .env:
#   LoadCredential=telegram-token:%h/.config/auto-improve/token
#   Environment=AUTO_IMPROVE_TELEGRAM_TOKEN_FILE=%d/telegram-token
Restart=on-failure
RestartSec=5
# 2 is a wrong setting: starting again does not mend it.
RestartPreventExitStatus=2
# The bot ends its agents itself; what is left after that is killed with it.
KillMode=mixed
TimeoutStopSec=30
UMask=0077

[Install]
WantedBy=default.target
"""


def usual() -> str:
    """Give the unit for an installation in the usual place."""
    return _fill(" ".join(USUAL_COMMAND), f"PATH={':'.join(USUAL_PATH)}", "", "~/.auto-improve")


def render(command: Sequence[str], search: Sequence[str], home: Path | None) -> str:
    """Give the unit for these full paths; `home` where it is not the usual one."""
    more = f"Environment={_quoted(f'AUTO_IMPROVE_HOME={home}')}\n" if home else ""
    told = str(home or "~/.auto-improve")
    # Only the program's own path may hold `$`: systemd fills variables in in arguments alone.
    return _fill(" ".join(map(_quoted, command)), _quoted(f"PATH={':'.join(search)}"), more, told)


def search_path(agent: Sequence[str]) -> list[str]:
    """Give the PATH of the service: where the agent's programs are, then what a person's shell has."""
    own = [str(Path(word).parent) for word in agent if Path(word).is_absolute()]
    return list(dict.fromkeys([*own, *filter(None, os.environ.get("PATH", "").split(os.pathsep))]))


def path() -> Path:
    """Give the place of the unit."""
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser() / "systemd" / "user" / NAME


def _fill(command: str, search: str, more: str, home: str) -> str:
    return _TEMPLATE.format(command=command, path=search, more=more, home=home)


def _quoted(text: str) -> str:
    safe = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{safe}"' if any(char in safe for char in " \t\"'\\;") else safe
