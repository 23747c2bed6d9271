"""The names of things: what kind of thing an id names is part of its type."""

from typing import NewType

FeedbackId = NewType("FeedbackId", str)  # UUIDv7
RunId = NewType("RunId", str)  # UUIDv7
SessionId = NewType("SessionId", str)  # UUIDv7
PromptId = NewType("PromptId", str)  # UUIDv7
LessonId = NewType("LessonId", str)  # l-001, short: people type it
ProposalId = NewType("ProposalId", str)  # p-001, short: people type it


def lesson_id(number: int) -> LessonId:
    """Name the lesson of that number."""
    return LessonId(f"l-{number:03d}")


def proposal_id(number: int) -> ProposalId:
    """Name the proposal of that number."""
    return ProposalId(f"p-{number:03d}")


def number_of(short_id: str) -> int:
    """Give the number in a short id, 0 where there is none; ids sort by it."""
    digits = short_id[2:]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 12 else 0


def uuid7(time_ms: int, random_bits: int) -> str:
    """Build a UUIDv7 (RFC 9562 5.7) of a time in milliseconds and 74 random bits."""
    rand_a = (random_bits >> 62) & 0xFFF
    rand_b = random_bits & ((1 << 62) - 1)
    value = (time_ms & ((1 << 48) - 1)) << 80 | 0x7 << 76 | rand_a << 64 | 0b10 << 62 | rand_b
    text = f"{value:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
