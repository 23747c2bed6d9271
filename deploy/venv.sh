# Sourced by deploy/check and deploy/start: one environment in .venv, made by uv where it is, else by venv and pip.
# Usage: prepare EXTRAS        (e.g. prepare "[dev]")

say() { printf '%s\n' "$*" >&2; }

find_python() {
  for candidate in "${PYTHON:-}" python3.13 python3.12 python3.11 python3; do
    [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 || continue
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return 0
    fi
  done
  say "auto-improve needs Python 3.11 or newer and found none. Install it (Debian: apt install python3 python3-venv), then try again."
  return 1
}

# Installs only when pyproject.toml or the pinned set changed since the last time.
prepare() {
  stamp=.venv/installed
  wanted="$1 $(cat pyproject.toml deploy/constraints.txt | cksum)"
  if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
    return 0
  fi
  if command -v uv >/dev/null 2>&1; then
    [ -x .venv/bin/python ] || uv venv -q --python '>=3.11' .venv || return 1
    uv pip install -q --python .venv/bin/python -c deploy/constraints.txt -e ".$1" || return 1
  else
    python=$(find_python) || return 1
    if [ ! -x .venv/bin/python ]; then
      "$python" -m venv .venv || {
        rm -rf .venv
        say "Python could not make an environment. On Debian and Ubuntu: apt install python3-venv, then try again."
        return 1
      }
    fi
    .venv/bin/python -m pip install -q --disable-pip-version-check -c deploy/constraints.txt -e ".$1" || return 1
  fi
  printf '%s' "$wanted" >"$stamp"
}
