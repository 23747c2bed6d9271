"""What an analysis reads: all of it data, masked and unshortened; the analyst cuts it (product.md 1.3)."""

from dataclasses import dataclass

from core.model.lesson import Lesson
from core.model.run import Run


@dataclass(frozen=True, slots=True)
class Exchange:
    """One earlier prompt of the session and its answer."""

    prompt: str
    answer: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about one 👎.

    `run` carries the prompt, the answer and the tool calls; it is None for a vote about no known run.
    `before` are up to three exchanges before it, oldest first. `words` is what the person said: the comment,
    then the correction typed next. `remark` is what a card is to be reworded with and `draft` its wording so
    far. `told` are the lessons that run was told, `in_scope` those a verdict may name (they include `told`
    where still active). `sharpen` is the lesson the person wants sharpened. `language` is theirs: en or fr.
    """

    run: Run | None
    language: str = "en"
    words: str = ""
    reasons: tuple[str, ...] = ()
    before: tuple[Exchange, ...] = ()
    first_prompt: str = ""
    told: tuple[Lesson, ...] = ()
    in_scope: tuple[Lesson, ...] = ()
    sharpen: Lesson | None = None
    remark: str = ""
    draft: str = ""
