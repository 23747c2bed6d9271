"""What the demo plays, without a bot: the project, the scripted agent's commands, the analyst, the guide."""

import asyncio
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from bot.demo.analyst import find
from bot.demo.project import Checks, Suite, create, environment
from bot.demo.script import LESSON, TASKS, DemoScript, task_of
from bot.demo.words import tell
from core.agents.script import Say, Shell, Step
from core.model.evidence import Evidence
from core.model.ids import RunId
from core.model.proposal import Verdict
from core.model.run import Call, Run, RunState

BLOCK = """\
## Lessons learned (auto-improve)
Approved by the person; ranks below the request at hand.
- [debug] {}
"""


def steps(prompt: str, told: str = "", language: str = "en") -> tuple[Step, ...]:
    """Give what the agent does at a prompt."""
    return DemoScript(language=lambda: language).steps(prompt, told)


def run_all(folder: Path, played: tuple[Step, ...]) -> list[int]:
    """Run the commands of a scene for real; give their exit codes."""
    commands = [step.command for step in played if isinstance(step, Shell)]
    env = environment({})
    return [
        subprocess.run(
            ("/bin/sh", "-c", each), cwd=folder, env=env, capture_output=True, check=False
        ).returncode
        for each in commands
    ]


def suite(folder: Path, name: str) -> Suite:
    """Give what one file of tests says now."""
    checks = Checks(folder)
    asyncio.run(checks.look())
    return next(each for each in checks.suites if each.name == name)


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_careless_work_leaves_the_tests_failing(tmp_path: Path, task: object, language: str) -> None:
    """Without the lesson no test is run, and the project is not fixed."""
    name = task.name  # type: ignore[attr-defined]
    create(tmp_path)

    codes = run_all(tmp_path, steps(tell(f"prompt.{name}", language), language=language))

    assert codes == [0, 0] and 0 < suite(tmp_path, f"test_{name}").failed < 3


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_careful_work_fixes_it(tmp_path: Path, task: object, language: str) -> None:
    """Told its lesson, it sees the tests fail, fixes the cause, sees them pass; also after careless work."""
    name = task.name  # type: ignore[attr-defined]
    prompt, told = tell(f"prompt.{name}", language), BLOCK.format(tell("analysis.rule", language))
    create(tmp_path)
    run_all(tmp_path, steps(prompt, language=language))

    codes = run_all(tmp_path, steps(prompt, told, language))

    assert codes == [1, 0, 0, 0]
    assert suite(tmp_path, f"test_{name}") == Suite(f"test_{name}", 3, 0)
    assert run_all(tmp_path, steps(prompt, told, language)) == [0, 0, 0, 0]


@pytest.mark.parametrize("rule", ["Always run the TESTS first.", "Test it.", "Lance les tests."])
def test_any_lesson_about_tests_counts(rule: str) -> None:
    """The wording is the person's."""
    assert LESSON.search(BLOCK.format(rule))


@pytest.mark.parametrize(
    "block", ["", BLOCK.format("Be brief."), "More on debug: read ~/tests/domain-debug.md"]
)
def test_other_lessons_change_nothing(block: str) -> None:
    """Neither another lesson nor a folder that is called so."""
    assert not LESSON.search(block)


def test_other_prompts_are_answered_with_what_it_knows() -> None:
    """The script says that it is one, and offers its tasks as buttons that it then understands."""
    (said,) = steps("What is the weather like?")

    assert isinstance(said, Say) and "I am a script" in said.text
    assert {task_of(tell(f"prompt.{task.name}", "en")) for task in TASKS} == set(TASKS)


def a_run(prompt: str, *calls: str) -> Run:
    """Make a run with these commands."""
    done = tuple(Call("bash", command, False) for command in calls)
    return Run(RunId("r"), None, "scripted", "/p", prompt, RunState.DONE, 0.0, calls=done)


def test_the_analysis_proposes_the_lesson_about_tests() -> None:
    """A 👎 on careless work, without words."""
    evidence = Evidence(a_run(tell("prompt.cart", "en"), "cat cart.py"))

    finding = find(evidence)

    assert (finding.verdict, finding.rule) == (Verdict.NEW, tell("analysis.rule", "en"))
    assert find(replace(evidence, language="fr")).rule == tell("analysis.rule", "fr")


def test_the_persons_words_win() -> None:
    """What they say is the lesson."""
    finding = find(Evidence(a_run("fix cart.py"), words="You should use Decimal for money"))

    assert (finding.verdict, finding.rule) == (Verdict.NEW, "Use Decimal for money")


def test_careful_work_teaches_nothing() -> None:
    """A 👎 on an answer that ran its tests asks for words."""
    finding = find(Evidence(a_run("fix cart.py", "python -m unittest test_cart")))

    assert finding.verdict is Verdict.NONE and finding.cause
