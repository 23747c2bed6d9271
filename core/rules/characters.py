"""Find characters that hide or pretend: invisible ones, and letters that look like others (S4).

Emoji joiners, the three flags made of tags, and the joiners of Indic and Persian scripts are meant;
everything else that draws nothing is taken out.
"""

import re
import unicodedata
from typing import Final

_SHOWN_FORMATS: Final = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd"
)
# Default_Ignorable_Code_Point, and others that draw nothing: fillers, annotations, the braille blank.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ufdd0-\ufdef"
    "\ue000-\uf8ff\ud800-\udfff\U000110bd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d159"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
_FLAG: Final = re.compile(  # England, Scotland, Wales: the flags that are made of tags
    "\U0001f3f4\U000e0067\U000e0062"
    "(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)\U000e007f"
)
_ZWNJ, _ZWJ, _TEXT_STYLE, _EMOJI_STYLE, _KEYCAP = "\u200c", "\u200d", "\ufe0e", "\ufe0f", "\u20e3"
_MARKS_MAX: Final = 4  # more on one letter is a stack that hides what is above and below
# Scripts whose spelling needs joiners: Arabic to Thaana, Indic to Tibetan, Myanmar, Khmer, Mongolian.
_JOINING: Final = re.compile(
    "[\u0600-\u07bf\u0840-\u109f\u1780-\u18af\u1900-\u1cff\ua800-\uaaff\ufb50-\ufdff\ufe70-\ufefc]"
)
_EMOJI: Final = re.compile(
    "[\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_IDEOGRAPH: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")

# Letters of other scripts drawn like a Latin one.
_CONFUSABLE: Final = {
    ord(letter): latin
    for letters, latins in (
        ("аеорсухіјѕԁԛԝһҽқӏгтпмкв", "aeopcyxijsdqwheklrtnmkb"),
        ("АВЕЅІЈКМНОРСТУХҮԌԚԜ", "ABESIJKMHOPCTYXYGQW"),
        ("αορνικτυχγηερωϲϳ", "aopvikTuxynepwcj"),
        ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ", "ABEZHIKMNOPTYXC"),
        ("օսոհցաՏՕՍԼ", "ounhgaSOUL"),
        ("ᎠᎡᎢᎪᎫᎬᎳᎷᎻᏀᏃᏒᏔᏕᏙᏚᏞᏟᏢᏦ", "DRTAJEWMHGZRWSVSLCPK"),
        ("ɑɡıⅼⅰⅴⅹⅽⅾⅿ", "agilivxcdm"),
    )
    for letter, latin in zip(letters, latins, strict=True)
}
_STYLED: Final = re.compile(
    "[\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff\u24b6-\u24e9\U0001f130-\U0001f149\U0001f150-\U0001f169]"
)
_WORD: Final = re.compile(r"[^\W\d_]+")
_SPACED_OUT: Final = re.compile(r"(?<!\w)(?:\w[ ._*-]){4,}\w(?!\w)")


def clean(text: str) -> tuple[str, bool]:
    """Return the text without hidden characters, and whether there were any.

    Lone surrogates become U+FFFD.
    """
    kept: list[str] = []
    found = False
    marks = at = 0
    while at < len(text):
        char = text[at]
        flag = _FLAG.match(text, at) if char == "\U0001f3f4" else None
        if flag:
            kept.append(flag[0])
            at = flag.end()
            continue
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks > _MARKS_MAX or (_is_hidden(char) and not _is_meant(kept, char, text[at + 1 : at + 2])):
            found = True
            if "\ud800" <= char <= "\udfff":
                kept.append("\ufffd")
        else:
            kept.append(char)
        at += 1
    return "".join(kept), found


def _is_hidden(char: str) -> bool:
    if _HIDDEN.match(char):
        return True
    return char > "\u02ff" and unicodedata.category(char) == "Cf" and char not in _SHOWN_FORMATS


def _is_meant(kept: list[str], char: str, after: str) -> bool:
    """Tell a joiner or a variation selector in its place from one that smuggles."""
    before = kept[-1] if kept else ""
    if char in (_ZWJ, _ZWNJ) and before and after and _JOINING.match(before) and _JOINING.match(after):
        return True
    if char == _ZWJ:
        return (before == _EMOJI_STYLE or _draws_emoji(before)) and _draws_emoji(after)
    if char in (_TEXT_STYLE, _EMOJI_STYLE):
        return _draws_emoji(before) if not before.isascii() else bool(before and after == _KEYCAP)
    is_selector = "\ufe00" <= char <= "\ufe02" or "\U000e0100" <= char <= "\U000e01ef"
    return is_selector and bool(before and _IDEOGRAPH.match(before))


def _draws_emoji(char: str) -> bool:
    return bool(_EMOJI.match(char))


def has_lookalike(text: str) -> bool:
    """Tell whether a word mixes scripts to look Latin, or is written in styled or full-width letters."""
    if text.isascii():
        return False
    if _STYLED.search(text):
        return True
    words = _WORD.findall(text)
    foreign = [word for word in words if not _scripts(word) <= {"LATIN"}]
    if any("LATIN" in _scripts(word) and _pretends(word) for word in foreign):
        return True
    # A word all of look-alikes pretends only where nothing else is written in its script.
    whole = [word for word in foreign if len(word) > 2 and _is_ascii_alike(word)]
    return bool(whole) and len(foreign) == len(whole) and len(words) > len(whole)


def _scripts(word: str) -> set[str]:
    return {unicodedata.name(char, "? ").split(" ", 1)[0] for char in word} - {
        "MICRO",
        "KELVIN",
        "OHM",
        "ANGSTROM",
    }


def _pretends(word: str) -> bool:
    return (
        any(not char.isascii() and char.translate(_CONFUSABLE).isascii() for char in word) and len(word) > 2
    )


def _is_ascii_alike(word: str) -> bool:
    return word.translate(_CONFUSABLE).isascii()


def plain(text: str) -> str:
    """Return the text as a reader takes it: look-alikes, styles, accents and spaced-out letters undone."""
    decomposed = unicodedata.normalize("NFKD", clean(text)[0])
    letters = "".join(char for char in decomposed if not "\u0300" <= char <= "\u036f").translate(_CONFUSABLE)
    joined = _SPACED_OUT.sub(lambda match: re.sub(r"[ ._*-]", "", match[0]), letters)
    return " ".join(joined.replace("\u2019", "'").casefold().split())
