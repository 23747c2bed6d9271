"""Command lines become verbs (learning.md 5.2)."""

import random

import pytest

from core.rules.shell import describe, parse

VERBS = {
    "prefixes": [
        ("sudo -u x npm test", "npm:test"),
        ("sudo -nu root npm test", "npm:test"),
        ("DEBIAN_FRONTEND=noninteractive sudo -E apt-get install -y x", "apt-get:install"),
        ("env A=B -i foo", "foo"),
        ("env -S 'node --x' script", "node"),
        ("timeout -k 5 10s pytest", "pytest"),
        ("cat list | xargs -n1 -I{} curl {}", "curl"),
        ("nice -n 10 ionice -c2 -n7 make build", "make:build"),
        ("watch -n 5 'kubectl get pods | head'", "kubectl:get"),
        ("strace -f -o out doas -u root ls", "ls"),
        ("time (make; make test)", "make:test"),
        ("flock -n a.lock -c 'npm test'", "npm:test"),
        ("sudo -l", "sudo"),
        ("command -v node", "command"),
    ],
    "shell wrappers": [
        ("bash -lc 'cd web && npm run build'", "npm:build"),
        ("bash -euo pipefail -c 'cargo build'", "cargo:build"),
        ("zsh -c \"sh -ec 'go test ./...'\"", "go:test"),
        ("su - user -c 'npm test'", "npm:test"),
        ("eval npm test", "npm:test"),
        ("bash -x ./scripts/run.sh a b", "run.sh"),
        ("bash <<'EOF'\ncd x\nnpm test\nEOF", "npm:test"),
        ('cmd.exe /c "npm test"', "npm:test"),
    ],
    "runners": [
        ("python3 -um pytest -q", "pytest"),
        ("python -m pip install x", "pip:install"),
        ("$PYTHON -m pytest", "pytest"),
        ("$(which python) -m pytest", "pytest"),
        ("uv run --with x python -m pytest", "pytest"),
        ("uvx ruff@0.5 check .", "ruff:check"),
        ("conda run -n env python x.py", "python"),
        ("bundle exec rspec", "rspec"),
        ("npx -p typescript tsc --noEmit", "tsc"),
        ("npx --yes create-react-app@latest app", "create-react-app"),
        ("pnpm dlx create-vite", "create-vite"),
        ("bunx --bun vite build", "vite:build"),
        ("rustup run nightly cargo build", "cargo:build"),
    ],
    "two levels": [
        ("git -C dir -c a=b commit -m 'x; y && z'", "git:commit"),
        ("docker -H tcp://x compose up", "docker:compose"),
        ("kubectl --context x -n y logs p", "kubectl:logs"),
        ("cargo +nightly test", "cargo:test"),
        ("terraform -chdir=infra plan", "terraform:plan"),
        ("aws --profile p --region r s3 ls", "aws:s3"),
        ("make -j 4 CC=gcc build/foo.o", "make:foo.o"),
        ("./gradlew :app:test", "gradlew:app:test"),
        ("mvn -q -pl mod -DskipTests package", "mvn:package"),
        ("php -d memory_limit=1 artisan migrate", "php:artisan"),
        ("redis-cli -h h ping", "redis-cli:ping"),
        ("bun index.ts", "bun"),
        ("git --version", "git"),
    ],
    "scripts": [
        ("npm --prefix web run --silent test:unit -- auth", "npm:test:unit"),
        ("pnpm --filter web build", "pnpm:build"),
        ("yarn workspace web run build", "yarn:build"),
        ("npm run", "npm:run"),
    ],
    "chains and pipes": [
        ("export A=1; source .env; npm run build", "npm:build"),
        ("cmd || { echo failed; exit 1; }", "cmd"),
        ("pytest 2>&1 | tee log", "pytest"),
        ("echo y | apt install x", "apt:install"),
        ("npm start & sleep 3", "npm:start"),
        ("X=$(git log) && echo $X", "git:log"),
        ("a;b|c&&d||e&f", "f"),
        ("cd x", "cd"),
    ],
    "blocks": [
        ("for f in *.py; do python $f; done | tail", "python"),
        ("while ! curl x; do sleep 1; done", "curl"),
        ("if [ -f a ]; then npm test; else pytest; fi", "npm:test"),
        ("if grep -q a b; then echo yes; fi", "grep"),
        ("case $x in a) make a;; *) make b;; esac", "make:a"),
        ("f() { npm test; }; f", "npm:test"),
        ("[[ -f a ]] && (( x > 1 )) && make", "make"),
    ],
    "here-documents": [
        ("cat <<EOF > f && python x\nfoo\nEOF", "python"),
        ("cat <<EOF | python\nfoo\nEOF", "python"),
        ("cat > f <<'EOF'; npm test\nx\nEOF", "npm:test"),
        ("cat <<A && cat <<B\n1\nA\n2\nB\nnpm test", "npm:test"),
        ("git commit -m \"$(cat <<'EOF'\nfix && build; done\nEOF\n)\"", "git:commit"),
        ('grep foo <<< "$x"', "grep"),
        ("diff <(sort a) <(sort b)", "diff"),
    ],
    "odd spellings": [
        ("n\"p\"m 'test'", "npm:test"),
        ("npm \\\n  run \\\n  build", "npm:build"),
        ('"C:\\Program Files\\Git\\bin\\git.exe" status', "git:status"),
        ("C:\\tools\\git.exe status", "git:status"),
        ("npm.cmd run build", "npm:build"),
        ("\\ls -la # all", "ls"),
        ("2>&1 npm test > out.txt", "npm:test"),
    ],
    "broken or cut lines": [
        ("cat <<'EOF' > f\nimport os\nprint('a b)\nfor x in y: pass", "cat"),
        ('npm test "unterminated', "npm:test"),
        ("if [ -f x ]; then npm test", "npm:test"),
        ("fi; npm test", "npm:test"),
        ("ls; }", "ls"),
    ],
    "no program": [
        (line, None) for line in ("", "  ", "# x", "A=1 B=2", "((i++))", "$CMD x", "> f", "\0", "./")
    ],
}


@pytest.mark.parametrize(("line", "verb"), [pair for pairs in VERBS.values() for pair in pairs])
def test_a_line_gets_its_verb(line: str, verb: str | None) -> None:
    """Each kind of line is peeled to the program that runs."""
    assert parse(line).verb == verb


def test_describe_lists_every_program_in_order() -> None:
    """`inspect verbs` shows the chosen program and all others, substitutions included."""
    assert describe("cd web && npm run test") == {
        "verb": "npm:test",
        "program": "npm",
        "programs": ["cd", "npm"],
    }
    assert describe("diff <(ls) $(which x)")["programs"] == ["diff", "ls", "which"]


@pytest.mark.parametrize(
    ("line", "error", "verb"),
    [
        ("cd web && npm run build && ls dist", 'npm ERR! Missing script: "build"', "npm:build"),
        ("cd nowhere && npm test", "bash: line 1: cd: nowhere: No such file or directory", "cd"),
        ("foo; ls", "bash: foo: command not found", "foo"),
        ("cat a | grep b", "cat: a: No such file or directory", "cat"),
        ("git push && ls", "fatal: no remote", "git:push"),
        ("npm test; ls", "something else", "ls"),
    ],
)
def test_the_command_named_by_the_error_wins(line: str, error: str, verb: str) -> None:
    """The failing segment is the one the error text speaks of."""
    assert parse(line, error).verb == verb


def test_text_is_equal_without_set_up_and_redirections() -> None:
    """The same command is recognised behind another `cd`."""
    assert parse("cd web && npm test 2>&1").text == parse("export A=1; npm test").text


def test_cd_moves_the_directory() -> None:
    """Relative paths of the line start where its own `cd` leads."""
    assert parse("cd web && cd src && cat a").directory == "web/src"


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "line",
    [
        "a " * 500_000,
        "(" * 10_000 + ")" * 10_000,
        "\0" * 10_000,
        "$(" * 10_000,
        "<<E " * 10_000,
        "eval " * 5_000,
    ],
    ids=["megabyte", "parentheses", "nul", "substitutions", "heredocs", "eval"],
)
def test_hostile_lines_end_in_time(line: str) -> None:
    """Nothing makes the parser raise or run away."""
    assert parse(line, "a: b") is not None


def test_mutated_lines_never_raise() -> None:
    """Two thousand damaged lines are read without an exception."""
    chance = random.Random(5)
    lines = [line for pairs in VERBS.values() for line, _ in pairs]
    pieces = [
        '"',
        "'",
        "`",
        "$(",
        ")",
        "(",
        "{",
        "<<EOF\n",
        "|",
        "&&",
        "\0",
        "\\",
        "\ud800",
        "case x in ",
        "sudo ",
    ]

    for _ in range(2_000):
        line = chance.choice(lines)
        for _ in range(chance.randint(1, 5)):
            at = chance.randint(0, len(line))
            line = line[:at] + chance.choice(pieces) + line[at + chance.randint(0, 3) :]
        parse(line, "npm ERR! x")


def test_a_traceback_names_the_program_it_went_through() -> None:
    """`pyreverse x && cat y` failed in pyreverse: cat never ran."""
    error = 'Traceback (most recent call last):\n  File "/opt/env/bin/pyreverse", line 33, in <module>'

    assert parse("pyreverse x.py && cat y.dot", error).verb == "pyreverse"
    assert parse("pyreverse x.py && cat y.dot").verb == "cat"
