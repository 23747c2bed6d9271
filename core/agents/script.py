"""What a scripted agent does, as data: scenes chosen by the words of the prompt and of the block."""

import re
from dataclasses import dataclass, field

from core.events import Dialog


@dataclass(frozen=True, slots=True)
class Say:
    """Write one message. `{{prompt}}`, `{{told}}`, `{{output}}` and `{{answer}}` are filled in."""

    text: str


@dataclass(frozen=True, slots=True)
class Shell:
    """Run a command for real, in the session's folder; its output becomes `{{output}}`."""

    command: str
    tool: str = "bash"


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the person and wait; what they say becomes `{{answer}}` (empty when cancelled)."""

    title: str
    dialog: Dialog = Dialog.CONFIRM
    message: str = ""
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mention:
    """Give a notice."""

    text: str
    level: str = "info"


@dataclass(frozen=True, slots=True)
class Stumble:
    """Say that the provider failed and wait before going on."""

    error: str
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Hang:
    """Do nothing until aborted or steered."""


@dataclass(frozen=True, slots=True)
class Fail:
    """End the run with a provider's error."""

    error: str


@dataclass(frozen=True, slots=True)
class Die:
    """End the process in the middle of the run."""

    error: str = ""


Step = Say | Shell | Ask | Mention | Stumble | Hang | Fail | Die


@dataclass(frozen=True, slots=True)
class Scene:
    """What to do at prompts in which `match` is found, if also `told` is found in the block (both regex)."""

    match: str
    steps: tuple[Step, ...]
    told: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What to answer single questions in which `match` is found: the texts in turn, the last one for ever.

    With `error` the provider fails; `hangs` never answers.
    """

    match: str
    texts: tuple[str, ...] = ("",)
    error: str | None = None
    hangs: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """All of it; the first scene or answer that fits is taken."""

    scenes: tuple[Scene, ...] = ()
    answers: tuple[Answer, ...] = ()
    default: tuple[Step, ...] = field(default=(Say("{{prompt}}"),))

    def steps(self, prompt: str, told: str) -> tuple[Step, ...]:
        """Choose what to do at a prompt."""
        for scene in self.scenes:
            if re.search(scene.match, prompt, re.DOTALL) and re.search(scene.told, told, re.DOTALL):
                return scene.steps
        return self.default

    def answer(self, question: str) -> Answer | None:
        """Choose how to answer a question."""
        return next((each for each in self.answers if re.search(each.match, question, re.DOTALL)), None)
