"""Compose what the chat shows of an agent's answer: messages and hidden buttons."""

from __future__ import annotations

from dataclasses import dataclass

from bot.buttons import MAX_BUTTONS, Button, Row
from bot.entities import Entity, is_visible
from bot.locales import say
from bot.markup import extract_buttons
from bot.splitting import Message, split_message

__all__ = ["Answer", "Button", "Entity", "render"]


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold the messages of an answer, in order, and the rows of buttons for the last one."""

    messages: list[Message]
    keyboard: list[Row]

    def as_dict(self) -> dict[str, object]:
        """Give what `inspect reply` prints (product.md 3)."""
        return {
            "messages": [
                {"text": text, "entities": [entity.as_dict() for entity in entities]}
                for text, entities in self.messages
            ],
            "keyboard": [
                [{"text": button.text, "prompt": button.prompt, "style": button.style} for button in row]
                for row in self.keyboard
            ],
        }


def render(answer: str, language: str = "en") -> Answer:
    """Render a whole answer; there is always at least one message, and none that looks empty."""
    from bot.markdown import render_markdown  # noqa: PLC0415 -- the parser costs memory that an idle bot saves

    markup = extract_buttons(answer)
    keyboard = _limit_buttons(markup.rows)
    text, spans = render_markdown(markup.text)
    if not is_visible(text):
        key = "answer.buttons_only" if keyboard else "answer.empty"
        return Answer([(say(key, language), ())], keyboard)
    messages = [_show(message, language) for message in split_message(text, spans)]
    return Answer(messages, keyboard)


def _show(message: Message, language: str) -> Message:
    return message if is_visible(message[0]) else (say("answer.empty", language), ())


def _limit_buttons(rows: list[Row]) -> list[Row]:
    """Keep the first MAX_BUTTONS; Telegram takes a hundred and the vote row comes on top."""
    kept: list[Row] = []
    free = MAX_BUTTONS
    for row in rows:
        if free:
            kept.append(row[:free])
        free -= len(row[:free])
    return kept
