"""Tell links Telegram accepts from those it refuses, the whole message with them."""

from __future__ import annotations

import re

_WEB = re.compile(r"https?://(?P<authority>[^/?#]+)(?:[/?#].*)?\Z", re.IGNORECASE | re.DOTALL)
_TG = re.compile(r"tg:(?://)?[A-Za-z0-9_.-]+(?:[/?#].*)?\Z", re.IGNORECASE | re.DOTALL)
_MAIL = re.compile(r"mailto:[^@\s]+@(?P<authority>[^/?#@:\s]+)(?:\?.*)?\Z", re.IGNORECASE)
_HOST = re.compile(
    r"(?:[^\s\x00-\x20\"<>\\^`{|}%\[\]()@:,;!/?#.]+\.)+[^\s\x00-\x20\"<>\\^`{|}%\[\]()@:,;!/?#.]+\.?\Z"
)
_BLANK = re.compile(r"\s")
_MAX_URL = 2048


def encode_url(target: str) -> str | None:
    """Give the URL to put into an entity, or None if Telegram would refuse this target."""
    url = _BLANK.sub(lambda match: "%20" if match[0] == " " else "", target)
    if len(url) > _MAX_URL:
        return None
    if _TG.match(url):
        return url
    match = _WEB.match(url) or _MAIL.match(url)
    return url if match and _is_host(match["authority"].rpartition("@")[2]) else None


def _is_host(authority: str) -> bool:
    host, colon, port = authority.partition(":")
    if colon and not (port.isascii() and port.isdigit() and 0 < int(port) <= 65535):
        return False
    return len(host) < 256 and bool(_HOST.match(host)) and not host.lower().rstrip(".").endswith(".localhost")
