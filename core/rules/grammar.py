"""From a shell's syntax tree to its commands, and to the one that counts (learning.md 5.2)."""

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from core.rules import plain_lines
from core.rules.invocation import Invocation, resolve
from core.rules.programs import DECORATIONS, PRODUCERS, SETUP, SHELLS
from core.rules.shell_words import source_of, word_of

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

INPUT_LIMIT = 32_768
"""Bytes of a line that are read: the grammar needs 0.1 s for the worst 32 KiB, seconds for the worst MiB."""
_MAX_DEPTH = 60
_MAX_SCRIPTS = 8
_MAX_SEGMENTS = 500

NORMAL, SETTING_UP, DECORATING = 2, 1, 0
_WEIGHTS: dict[str | None, int] = {
    **dict.fromkeys(SETUP, SETTING_UP),
    **dict.fromkeys(DECORATIONS, DECORATING),
}


class Segment(NamedTuple):
    """One command of a line. `weight`: what counts, what only sets up, what only decorates.

    `written` is the file its output is redirected to; `is_nested` says that it stands in a substitution.
    """

    program: str | None
    verb: str | None
    typed: str
    args: tuple[str, ...]
    names: tuple[str, ...]
    weight: int = NORMAL
    written: str | None = None
    is_nested: bool = False

    @property
    def text(self) -> str:
        """Give the words as typed, without redirections."""
        return " ".join((self.typed, *self.args))

    @property
    def is_local(self) -> bool:
        """Say whether it is a file of the project: `bin/test` is not the shell's `test`."""
        word = self.typed.rpartition(" ")[2]
        return "/" in word and not word.startswith(("/", "~", "$"))


@cache
def _parser() -> "Parser":
    import tree_sitter_bash  # noqa: PLC0415 - lazy: the grammar is not needed at start
    from tree_sitter import Language, Parser  # noqa: PLC0415

    return Parser(Language(tree_sitter_bash.language()))


def _kinds(names: str) -> frozenset[str]:
    return frozenset(names.split())


_CHAINS = _kinds(
    "program list compound_statement subshell do_group ERROR else_clause elif_clause case_item"
    " negated_command command_substitution process_substitution"
)
_BRANCHES = _kinds("if_statement while_statement for_statement c_style_for_statement case_statement")
_STATEMENTS = (
    _CHAINS
    | _BRANCHES
    | _kinds(
        "pipeline redirected_statement command test_command declaration_command unset_command"
        " variable_assignment variable_assignments function_definition"
    )
)
_REDIRECTS = _kinds("file_redirect heredoc_redirect herestring_redirect")
_SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
_PLAIN = frozenset({"word", "number", "raw_string", "comment", "heredoc_start", "heredoc_end"})


class Reader:
    """Walks one line's tree, collecting its commands and choosing the one that counts."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.directory = ""
        self._functions: dict[str, Segment | None] = {}
        self._depth = 0
        self._nesting = 0
        self._scripts = 0

    def read(self, text: str) -> Segment | None:
        """Read a whole line (or the script of a wrapper)."""
        if (plain := plain_lines.split(text)) is not None:
            return self._read_plain(plain)
        source = text[:INPUT_LIMIT].encode("utf-8", "replace")[:INPUT_LIMIT].replace(b"\0", b" ")
        root = _parser().parse(source).root_node
        if root.has_error and (mended := _drop_heredocs(root, source)):
            root = _parser().parse(mended).root_node
        return self._visit(root)

    def _read_plain(self, pipelines: list[plain_lines.Pipeline]) -> Segment | None:
        best: Segment | None = None
        chosen: Segment | None = None  # of the statement so far: what it writes, all of it writes
        is_piped = False
        for pipeline in pipelines:
            taken = self._take_all(pipeline.commands)
            if is_piped and chosen is not None:
                chosen = _first_of_pipe([chosen, *taken])
            else:
                chosen = _better(chosen, _first_of_pipe(taken))
            if chosen is not None and pipeline.written:
                chosen = self._replace_last(chosen, pipeline.written)
            is_piped = pipeline.is_piped
            if pipeline.ends:
                best, chosen = _better(best, chosen), None
        return _better(best, chosen)

    def _take_all(self, commands: list[list[str]]) -> list[Segment]:
        taken = [self._take(invocation) for words in commands if (invocation := resolve(words))]
        return [one for one in taken if one]

    def _visit(self, node: "Node") -> Segment | None:
        if self._depth >= _MAX_DEPTH or len(self.segments) >= _MAX_SEGMENTS:
            return None
        self._depth += 1
        try:
            return self._visit_kind(node, node.type)
        finally:
            self._depth -= 1

    def _visit_kind(self, node: "Node", kind: str) -> Segment | None:
        if kind == "command":
            return self._visit_command(node)
        if kind in _CHAINS:
            return _best(self._visit_statements(node))
        if kind == "pipeline":
            return _first_of_pipe(self._visit_statements(node))
        if kind == "redirected_statement":
            return self._visit_redirected(node)
        if kind in _BRANCHES:
            return self._visit_branches(node)
        return self._visit_simple(node, kind)

    def _visit_simple(self, node: "Node", kind: str) -> Segment | None:
        if kind == "test_command":
            return self._add(_plain_segment("test", source_of(node)), node)
        if kind in ("declaration_command", "unset_command"):
            word = source_of(node).partition(" ")[0]
            return self._add(_plain_segment(word, source_of(node)), node)
        if kind == "function_definition":
            self._define(node)
            return None
        return self._visit_nested(node)

    def _visit_statements(self, node: "Node") -> list[Segment]:
        found = (self._visit(child) for child in node.named_children if child.type in _STATEMENTS)
        return [one for one in found if one]

    def _visit_branches(self, node: "Node") -> Segment | None:
        conditions = {child.id for child in node.children_by_field_name("condition")}
        asked: list[Segment | None] = []
        bodies: list[Segment | None] = []
        for child in node.named_children:
            if child.type in _STATEMENTS:
                found = self._visit(child)
                (asked if child.id in conditions else bodies).append(found)
            elif child.type not in _PLAIN:
                self._visit_nested(child)
        return _first_meaningful([one for one in (*bodies, *asked) if one])

    def _define(self, node: "Node") -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name and body:
            self._functions[source_of(name)] = self._visit(body)

    def _visit_redirected(self, node: "Node") -> Segment | None:
        body = node.child_by_field_name("body")
        chosen = self._visit(body) if body else None
        piped: list[Segment] = []
        chained: list[Segment] = []
        for redirect in node.children_by_field_name("redirect"):
            chosen = self._visit_redirect(redirect, chosen)
            if redirect.type == "heredoc_redirect":
                for child in redirect.named_children:
                    if child.type in _STATEMENTS and (found := self._visit(child)):
                        (piped if child.type == "pipeline" else chained).append(found)
        if chosen and piped:
            chosen = _first_of_pipe([chosen, *piped])
        elif piped:
            chosen = piped[0]
        return _best([*([chosen] if chosen else []), *chained])

    def _visit_redirect(self, redirect: "Node", chosen: Segment | None) -> Segment | None:
        if redirect.type == "heredoc_redirect":
            inner = [child for child in redirect.named_children if child.type == "file_redirect"]
            for one in inner:
                chosen = self._visit_redirect(one, chosen)
            return self._read_heredoc(redirect, chosen)
        self._visit_nested(redirect)
        target = _redirect_target(redirect)
        return self._replace_last(chosen, target) if chosen and target else chosen

    def _read_heredoc(self, redirect: "Node", chosen: Segment | None) -> Segment | None:
        """Read the lines a shell is given as here-document."""
        if not chosen or chosen.program not in SHELLS or any(not one.startswith("-") for one in chosen.args):
            return chosen
        body = next((child for child in redirect.named_children if child.type == "heredoc_body"), None)
        return (self._read_script(source_of(body)) or chosen) if body else chosen

    def _replace_last(self, chosen: Segment, target: str) -> Segment:
        written = chosen._replace(written=target)
        if self.segments and self.segments[-1] is chosen:
            self.segments[-1] = written
        return written

    def _visit_command(self, node: "Node") -> Segment | None:
        words: list[str] = []
        complex_nodes = []
        for child in node.named_children:
            kind = child.type
            if kind == "subshell":  # `time (make; make test)`
                return self._visit(child)
            if kind not in _REDIRECTS:
                words.append(word_of(child, kind))
            if kind not in _PLAIN:
                complex_nodes.append(child)
        invocation = resolve(words)
        position = len(self.segments)
        result = self._take(invocation) if invocation else None
        for child in complex_nodes:
            self._visit_nested(child)
        is_substitution = not words or words[0][:1] in ("$", "`")
        if result is None and is_substitution:  # only assignments, or `$(tool)`: what they substitute
            return _best(self.segments[position:])
        return result

    def _take(self, invocation: Invocation) -> Segment | None:
        if invocation.script is not None and (inner := self._read_script(invocation.script)):
            return inner
        if invocation.program in self._functions:
            return self._functions[invocation.program or ""]
        if invocation.program == "cd" and not self._nesting:
            self._change_directory(invocation.args)
        return self._append(_segment(invocation)) if invocation.program else None

    def _change_directory(self, args: tuple[str, ...]) -> None:
        target = next((one for one in args if not one.startswith("-")), "")
        if target and "$" not in target and "`" not in target:
            is_absolute = target.startswith(("/", "~"))
            self.directory = target if is_absolute or not self.directory else f"{self.directory}/{target}"

    def _read_script(self, text: str) -> Segment | None:
        if self._scripts >= _MAX_SCRIPTS:
            return None
        self._scripts += 1
        return self.read(text)

    def _add(self, segment: Segment, node: "Node") -> Segment:
        added = self._append(segment)
        self._visit_nested(node)
        return added

    def _append(self, segment: Segment) -> Segment:
        placed = segment._replace(is_nested=True) if self._nesting else segment
        self.segments.append(placed)
        return placed

    def _visit_nested(self, node: "Node") -> Segment | None:
        """Visit the substitutions below a node."""
        text = node.text or b""
        if b"(" not in text and b"`" not in text:
            return None
        self._nesting += 1
        found = [self._visit(one) for one in _find_substitutions(node)]
        self._nesting -= 1
        return _best([one for one in found if one])


def _segment(invocation: Invocation) -> Segment:
    name, verb, typed, args, names, _ = invocation
    weight = _WEIGHTS.get(name, NORMAL)
    if name == "exec" and not args:
        weight = SETTING_UP  # redirections of the shell itself
    elif name == "kill" and args and args[-1][:1] in ("$", "%"):
        weight = SETTING_UP  # it ends what the line itself started
    return Segment(name, verb, typed, args, names, weight)


def _plain_segment(program: str, text: str) -> Segment:
    weight = SETTING_UP if program in SETUP else NORMAL
    return Segment(program, program, program, tuple(text.split()[1:]), (program,), weight)


def _better(best: Segment | None, one: Segment | None) -> Segment | None:
    if best is None or one is None:
        return best or one
    return one if one.weight >= best.weight else best


def _best(found: list[Segment]) -> Segment | None:
    """Choose the last of those that count most."""
    best: Segment | None = None
    for one in found:
        best = _better(best, one)
    return best


def _first_meaningful(found: list[Segment]) -> Segment | None:
    return next((one for one in found if one.weight == NORMAL), found[0] if found else None)


def _first_of_pipe(found: list[Segment]) -> Segment | None:
    if len(found) == 1:
        return found[0]
    for one in found:
        if one.weight == NORMAL and one.program not in PRODUCERS:
            return one
    return _best(found)


def _find_substitutions(node: "Node") -> list["Node"]:
    found: list[Node] = []
    waiting = [node]
    while waiting and len(found) < _MAX_SEGMENTS:
        one = waiting.pop()
        if one.type in _SUBSTITUTIONS:
            found.append(one)
        elif one.type not in _PLAIN:
            waiting.extend(reversed(one.named_children))
    return found


def _redirect_target(redirect: "Node") -> str | None:
    if redirect.type != "file_redirect" or b">" not in (redirect.text or b""):
        return None
    destination = redirect.child_by_field_name("destination")
    if destination is None or destination.type == "number":
        return None
    target = word_of(destination, destination.type)
    return None if target.startswith("/dev/") else target


def _drop_heredocs(root: "Node", source: bytes) -> bytes | None:
    """Give the line without its here-documents: cut off, or more than the grammar follows."""
    starts = _find_heredocs(root)
    if not starts:
        return None
    lines = source.split(b"\n")
    kept: list[bytes] = []
    row = 0
    while row < len(lines):
        line, here = lines[row], [one for one in starts if one.start_point[0] == row]
        for one in reversed(here):
            operator = line.rfind(b"<<", 0, one.start_point[1])
            line = line[:operator] + line[one.end_point[1] :]
        kept.append(line)
        row += 1
        for one in here:
            row = _skip_body(lines, row, (one.text or b"").strip(b"'\"\\"))
    return b"\n".join(kept)


def _find_heredocs(root: "Node") -> list["Node"]:
    waiting, found = [root], list["Node"]()
    while waiting and len(found) < _MAX_SCRIPTS:
        one = waiting.pop()
        if one.type == "heredoc_start":
            found.append(one)
        elif one.type not in _PLAIN:
            waiting.extend(reversed(one.named_children))
    return found


def _skip_body(lines: list[bytes], row: int, end: bytes) -> int:
    while row < len(lines) and lines[row].strip() != end:
        row += 1
    return row + 1
