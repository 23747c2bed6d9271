"""Turn what a person said into the wording of a lesson: their words, as an order, cut to size.

Nothing is made up: what no table line fits stays as it was typed. A person reads and may edit it anyway.
"""

import re
from collections.abc import Iterable

from core.model.lesson import MAX_RULE_CHARS

MAX_SENTENCES = 2
_MAX_READ_CHARS = 20_000

# What opens a remark without being part of an order. "No secrets in logs" and "stop guessing" are orders:
# such words count as an opening only with punctuation behind them.
_GREETING = re.compile(
    r"^(?:👎\S*\s*|(?:no|nope|non|wrong|faux|hey|hé|ok|okay|bon|well|sorry|désolé|stop|but|and|mais|et)"
    r"(?:\s*[,!.:;…]+\s*|\s+[–-]+\s+|$)|"
    r"(?:please|pls|svp|stp|merci de|s'il (?:te|vous) pla[iî]t|next time|in (?:the )?future|from now on|"
    r"la prochaine fois|à l'avenir|désormais|dorénavant)(?:[\s,!.:;…]+|$))",
    re.IGNORECASE,
)

_YOU = r"(?:you|the agent|it)"
_MUST = r"(?:should|must|ought to|have to|has to|need to|needs to|had to|are to|were to)"
_ASK = r"i (?:want|wanted|need|needed|expect|expected|asked|told)"
_TU = r"(?:tu|vous|l'agent|il)"
_DOIT = r"(?:dois|devez|doit|devrais|devriez|devrait|devais|deviez|devait)"
_AURAIS = r"(?:aurais|auriez|aurait)"
_FAUT = r"(?:faut|fallait|faudrait|faudra)"

# Each line: how an order is led in, and what remains of that lead. The first that fits is used.
_LEADS = (
    (rf"{_YOU} (?:should(?:n't| not)|must(?:n't| not)|(?:are|were) not to|ought not to) ", "do not "),
    (
        rf"{_YOU} {_MUST}(?:'ve | (?:have|of) )",
        None,
    ),  # the participle that follows is no order: kept as typed
    (rf"{_YOU} {_MUST} ", ""),
    (rf"{_ASK} you (?:not to|to not) ", "do not "),
    (rf"{_ASK} you to ", ""),
    (r"i(?: would|'d) (?:like|prefer) you to ", ""),
    (rf"{_YOU} (?:forgot|failed|neglected) to ", "do not forget to "),
    (r"(?:you did(?:n't| not)|why did(?:n't you| you not)) (?=[a-z]+ )", ""),
    (r"(?:can|could|would|will) you (?:please )?", ""),
    (rf"{_TU} (?:ne )?(?:{_DOIT}|{_FAUT}) pas ", "ne pas "),
    (rf"{_TU} (?:ne )?(?:{_DOIT}|{_FAUT}) jamais ", "ne jamais "),
    (rf"{_TU} n'{_AURAIS} pas d[uû] ", "ne pas "),
    (rf"{_TU} n'{_AURAIS} jamais d[uû] ", "ne jamais "),
    (rf"(?:{_TU} (?:{_DOIT}|{_FAUT}|{_AURAIS} d[uû])|il aurait fallu) ", ""),
    (r"je (?:t'ai|t'avais|vous ai|vous avais) (?:demandé|dit) (?:de |d')", ""),
    (rf"(?:{_TU} (?:as|avez|a)|t'as) oublié (?:de |d')", "ne pas oublier de "),
    (r"(?:peux-tu|pourrais-tu|tu peux|tu pourrais|pouvez-vous|pourriez-vous) ", ""),
)
_COMPILED = tuple((re.compile("^" + lead, re.IGNORECASE), rest) for lead, rest in _LEADS)

# A judgement that says nothing about what to do instead.
_SUBJECT = (
    r"(?:(?:this|that|it|the answer)(?:'s| is| was)?|c'est|c'était|ce n'est|ce n'était|ça|la réponse est)"
)
_VERY = r"(?:just|really|so|completely|totally|vraiment|complètement|très|trop|not|pas)"
_JUDGED = (
    r"(?:wrong|bad|good|right|terrible|awful|useless|nonsense|crap|rubbish|incorrect|false|broken|"
    r"what i (?:asked|wanted)(?: for)?|faux|nul|mauvais|bon|bien|ça|n'importe quoi|"
    r"ce que (?:j'ai demandé|je voulais|je demandais))"
)
_COMPLAINT = re.compile(rf"^(?:{_SUBJECT}\s+)?(?:{_VERY}\s+)*{_JUDGED}[\s.!…]*$", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+(?=[A-ZÀ-ÖØ-Þ\"'«`¿¡])")
_BULLET = re.compile(r"^\s*(?:[-*•–]|\d{1,3}[.)])\s+")
_QUESTION = re.compile(r"\s*\?+$")


def word(words: str) -> str:
    """Give the wording, at most 300 characters and two sentences; empty where nothing says what to do."""
    wanted = [order for sentence in _sentences(words) if (order := _order(sentence))]
    return _fit(wanted[:MAX_SENTENCES])


def _sentences(words: str) -> Iterable[str]:
    for line in words[:_MAX_READ_CHARS].splitlines():
        text = " ".join(_BULLET.sub("", line).split())
        if text:
            yield from _SENTENCE_END.split(text)


def _order(sentence: str) -> str:
    """Turn one sentence into an order, empty where it is none."""
    text = sentence.replace("’", "'")
    while greeting := _GREETING.match(text):
        text = text[greeting.end() :]
    if _COMPLAINT.match(text) or not _says_something(text):
        return ""
    for lead, rest in _COMPILED:
        if found := lead.match(text):
            return text if rest is None else _begin(rest + text[found.end() :])
    return text


def _begin(text: str) -> str:
    """Write it as a sentence of its own: it lost its beginning, and with it a question's mark."""
    text = _QUESTION.sub("", text)
    return text[:1].upper() + text[1:]


def _says_something(text: str) -> bool:
    """Say whether there are two words, or a few characters of a script that writes without spaces."""
    if sum(any(map(str.isalnum, part)) for part in text.split()) >= 2:
        return True
    return sum(char >= "\u2e80" and char.isalpha() for char in text) >= 4


def _fit(sentences: list[str]) -> str:
    """Join what fits whole; a first sentence that does not fit is cut after a word."""
    text = ""
    for sentence in sentences:
        joined = f"{_close(text)} {sentence}" if text else sentence
        if len(joined) > MAX_RULE_CHARS:
            break
        text = joined
    if text or not sentences:
        return text
    kept = sentences[0][: MAX_RULE_CHARS - 1]
    return (kept.rsplit(" ", 1)[0] if " " in kept else kept).rstrip(" ,;:") + "…"


def _close(sentence: str) -> str:
    return sentence if sentence[-1] in ".!?…:;" else sentence + "."
