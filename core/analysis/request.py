"""What an analyst is asked: instructions, then all that was read, as fenced data (learning.md 4)."""

import json
from functools import cache
from pathlib import Path

from core.model.evidence import Evidence, Exchange
from core.model.ids import LessonId, number_of
from core.model.lesson import MAX_RULE_CHARS, Lesson
from core.model.run import Call, Run
from core.rules.redact import redact

TEMPLATE = Path(__file__).parent / "prompts" / "analysis.txt"
FIRST_LINE = "AUTO-IMPROVE ANALYSIS"

# Characters kept of each kind of text; a third of it from the end, where errors and corrections stand.
PROMPT_CHARS = 3000
ANSWER_CHARS = 6000
BEFORE_CHARS = 1500
WORDS_CHARS = 3000
CALL_CHARS = 300
MAX_CALLS = 60
MAX_LESSONS = 60
REPLY_CHARS = 2000

# Masking reads no more than this of each end: far more than is kept, so that no secret is cut and missed.
_MASKED_CHARS = 20_000
_LANGUAGES = {"en": "English", "fr": "French"}


def write(evidence: Evidence, nonce: str) -> str:
    """Write the whole request; its first line is `AUTO-IMPROVE ANALYSIS` (product.md 6)."""
    values = {
        "nonce": nonce,
        "max_rule": str(MAX_RULE_CHARS),
        "language": _LANGUAGES.get(evidence.language, "English"),
        "task": _task(evidence),
        "data": _encode(_data(evidence)),
    }
    text = _template()
    # Filled in this order: the data come last, so that braces in them are never taken for a placeholder.
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def write_again(request: str, reply: str, reason: str, nonce: str) -> str:
    """Write the request once more with the reply that could not be used, and why."""
    return (
        f"{request}\n"
        f"You were asked this before. Your reply could not be used: {reason}.\n"
        f"----- your reply {nonce}\n{_encode(shorten(reply, REPLY_CHARS))}\n----- end {nonce}\n"
        "Answer again with exactly one JSON object as described above, and nothing else.\n"
    )


def shorten(text: str, limit: int) -> str:
    """Mask the secrets of a text, then cut it to `limit` characters by head and tail."""
    if len(text) > 2 * _MASKED_CHARS:
        text = text[:_MASKED_CHARS] + text[-_MASKED_CHARS:]
    return cut(redact(text), limit)


def cut(text: str, limit: int) -> str:
    """Keep two thirds from the beginning and one from the end, with a mark between."""
    if len(text) <= limit:
        return text
    tail = (limit - 3) // 3
    return f"{text[: limit - 3 - tail]} … {text[-tail:]}"


@cache
def _template() -> str:
    return TEMPLATE.read_text(encoding="utf-8")


def _task(evidence: Evidence) -> str:
    """Say what is special about this request: sharpening a lesson, or rewording a draft."""
    if evidence.sharpen is not None:
        return (
            f"\nThis time the person wants lesson {evidence.sharpen.id} sharpened, since it was broken: "
            f'use "merge" with "lesson": "{evidence.sharpen.id}" and give a wording that cannot be missed.\n'
        )
    if evidence.remark:
        return '\nThis time the person has read "draft" and made a "remark": give the wording they ask for.\n'
    return ""


def _data(evidence: Evidence) -> dict[str, object]:
    told = {lesson.id for lesson in evidence.told}
    return {
        "words": shorten(evidence.words, WORDS_CHARS),
        "reasons": list(evidence.reasons),
        "remark": shorten(evidence.remark, WORDS_CHARS),
        "draft": evidence.draft,
        "first_prompt_of_session": shorten(evidence.first_prompt, BEFORE_CHARS),
        "before": [_exchange(exchange) for exchange in evidence.before],
        "run": None if evidence.run is None else _run(evidence.run),
        "lessons": [_lesson(lesson, told) for lesson in _lessons(evidence)],
    }


def _exchange(exchange: Exchange) -> dict[str, str]:
    return {
        "prompt": shorten(exchange.prompt, BEFORE_CHARS),
        "answer": shorten(exchange.answer, BEFORE_CHARS),
    }


def _run(run: Run) -> dict[str, object]:
    return {
        "project": run.project,
        "domain": run.domain.value,
        "state": run.state.value,
        "prompt": shorten(run.prompt, PROMPT_CHARS),
        "calls": [_call(call) for call in choose_calls(run.calls)],
        "answer": shorten(run.answer, ANSWER_CHARS),
        "error": shorten(run.error, CALL_CHARS),
    }


def choose_calls(calls: tuple[Call, ...]) -> list[Call]:
    """Choose the calls that say most: failures before successes, later before earlier; in their order."""
    if len(calls) <= MAX_CALLS:
        return list(calls)
    places = sorted(range(len(calls)), key=lambda place: (not calls[place].is_error, -place))[:MAX_CALLS]
    return [calls[place] for place in sorted(places)]


def _call(call: Call) -> dict[str, object]:
    shown: dict[str, object] = {
        "tool": call.tool,
        "command": shorten(call.command, CALL_CHARS),
        "failed": call.is_error,
    }
    if call.error:
        shown["error"] = shorten(call.error, CALL_CHARS)
    if call.exit_code is not None:
        shown["exit_code"] = call.exit_code
    if call.is_aborted:
        shown["aborted"] = True
    return shown


def _lessons(evidence: Evidence) -> list[Lesson]:
    """Give what a verdict may name, in id order; where there are too many, the told ones are kept."""
    told = [lesson for lesson in evidence.told if lesson.active]
    must = (*told, *((evidence.sharpen,) if evidence.sharpen else ()))
    wanted = {lesson.id: lesson for lesson in (*must, *evidence.in_scope)}
    kept = list(wanted.values())[: max(MAX_LESSONS, len(must))]
    return sorted(kept, key=lambda lesson: number_of(lesson.id))


def _lesson(lesson: Lesson, told: set[LessonId]) -> dict[str, object]:
    return {
        "id": lesson.id,
        "rule": lesson.rule,
        "domain": lesson.domain.value,
        "scope": lesson.scope.value,
        "told": lesson.id in told,
    }


def _encode(value: object) -> str:
    """Encode data for the fence: one line that no text in it can end, and no half of a character."""
    text = json.dumps(value, ensure_ascii=False)
    text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")
    return text.encode("utf-8", "replace").decode("utf-8")
