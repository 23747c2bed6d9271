"""The scripted agent of the demo: careless at first, careful once it is told a lesson about tests.

Only its words and its choice of commands are scripted. The commands run for real in the sample project, and
what it shows of them is what they printed.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from bot.demo.words import tell
from core.agents.script import Say, Script, Shell, Step

PAUSE_S = 0.12  # between two pieces of text: slow enough to be seen working

# A lesson is a line of the block; the lines around it name folders, which may be called anything.
LESSON = re.compile(r"^- \[\w+\] .*\btest", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Task:
    """What the script can be asked: recognised by `words`; the edits are commands that may run twice."""

    name: str
    words: re.Pattern[str]
    careless: str
    careful: str


def _edit(file: str, *changes: str) -> str:
    """Change a file by sed, in the way that GNU's and BSD's understand."""
    return f"sed -i.bak '{'; '.join(changes)}' {file} && rm {file}.bak"


TASKS = (
    Task(
        "cart",
        re.compile(r"\bcart\b|\bpanier\b|discount|remise|27", re.IGNORECASE),
        _edit("cart.py", "s|amount - discount|amount * (100 - discount) / 100|"),
        _edit(
            "cart.py",
            "s|amount - discount|amount * (100 - discount) / 100|",
            "s|+= price$|+= price * quantity|",
        ),
    ),
    Task(
        "shipping",
        re.compile(r"shipping|livraison|\bport\b|\b50\b", re.IGNORECASE),
        _edit("shipping.py", "s|amount > 50|amount >= 50|"),
        _edit("shipping.py", "s|return 0 if .* else 5|return 0 if amount >= 50 or not amount else 5|"),
    ),
)
_RUN_TESTS = re.compile(r"\b(?:run|lance[rz]?|exécute[rz]?)\b.*\btests?\b", re.IGNORECASE | re.DOTALL)


def task_of(prompt: str) -> Task | None:
    """Give the task a prompt is about."""
    return next((task for task in TASKS if task.words.search(prompt)), None)


@dataclass(frozen=True, slots=True)
class DemoScript(Script):
    """Plays in the language of the visitor, which is asked for at each prompt."""

    language: Callable[[], str] = lambda: "en"

    def steps(self, prompt: str, told: str) -> tuple[Step, ...]:
        """Choose by the prompt, and by whether a lesson about tests is in the block."""
        language, task = self.language(), task_of(prompt)
        if _RUN_TESTS.search(prompt):
            suite = f"test_{task.name}" if task else ""
            return (Shell(f"python -m unittest {suite}".strip()), Say(tell("agent.printed", language)))
        if task is None:
            return (Say(tell("agent.unknown", language)),)
        return _careful(task, language) if LESSON.search(told) else _careless(task, language)


def _careless(task: Task, language: str) -> tuple[Step, ...]:
    return (
        Say(tell(f"agent.{task.name}_look", language)),
        Shell(f"cat {task.name}.py"),
        Say(tell(f"agent.{task.name}_change", language)),
        Shell(task.careless),
        Say(tell(f"agent.{task.name}_careless", language)),
    )


def _careful(task: Task, language: str) -> tuple[Step, ...]:
    tests = f"python -m unittest test_{task.name}"
    return (
        Say(tell("agent.tests_first", language)),
        Shell(tests),
        Say(tell("agent.tests_cause", language)),
        Shell(f"cat {task.name}.py"),
        Shell(task.careful),
        Say(tell("agent.tests_again", language)),
        Shell(tests),
        Say(tell(f"agent.{task.name}_careful", language)),
    )
