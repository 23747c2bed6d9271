"""The HTTP request class under python-telegram-bot, on aiohttp (why: reliability.md 1, P10)."""

import json
import os
import re
from io import BytesIO
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from telegram.error import BadRequest, NetworkError, TelegramError, TimedOut
from telegram.request import BaseRequest, RequestData

_TOKEN_IN_URL = re.compile(r"/bot([^/]+)/")
_SUCCESS = b'{"ok":true,"result":'
_SHOWN_BODY_BYTES = 200
_LARGE_BYTES = 1024 * 1024  # from here on aiohttp wants a stream
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}

# Without it python-telegram-bot warns at every 429 that `retry_after` will be a timedelta one day.
os.environ.setdefault("PTB_TIMEDELTA", "true")


class RequestFailed(NetworkError):
    """The server could not be reached, or the answer was lost or is no answer.

    `was_sent` is False only when it is certain that the server did not see the request; True means an unknown
    outcome: the call may have had its effect.
    """

    def __init__(self, message: str, *, was_sent: bool) -> None:
        super().__init__(message)
        self.was_sent = was_sent


class RequestTimedOut(TimedOut):
    """No connection, or no answer, in the time given; `was_sent` as in `RequestFailed`."""

    def __init__(self, message: str, *, was_sent: bool) -> None:
        super().__init__(message)
        self.was_sent = was_sent


def was_sent(error: TelegramError) -> bool:
    """Tell whether the server may have seen the failed request.

    Errors that Telegram answered itself (4xx, 5xx) reached it, so they count as sent.
    """
    return not isinstance(error, RequestFailed | RequestTimedOut) or error.was_sent


class AiohttpRequest(BaseRequest):
    """Requests over one pool of kept-alive connections; all times in seconds, None waits for ever.

    No exception carries the URL, which holds the bot token: they are raised without cause or context.
    """

    def __init__(
        self,
        pool_size: int = 64,
        *,
        read_timeout_s: float | None = 10.0,
        write_timeout_s: float | None = 10.0,
        media_write_timeout_s: float | None = 60.0,
        connect_timeout_s: float | None = 5.0,
        pool_timeout_s: float | None = 5.0,
    ) -> None:
        self._pool_size = pool_size
        self._read_timeout_s = read_timeout_s
        self._write_timeout_s = write_timeout_s
        self._media_write_timeout_s = media_write_timeout_s
        self._connect_timeout_s = connect_timeout_s
        self._pool_timeout_s = pool_timeout_s
        self._session: aiohttp.ClientSession | None = None
        self._proxies: dict[str, str | None] = {}

    @property
    def read_timeout(self) -> float | None:
        """Give the time to wait for an answer when a call does not name one."""
        return self._read_timeout_s

    async def initialize(self) -> None:
        """Open the pool; does nothing when it is open."""
        if self._session is not None and not self._session.closed:
            return
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._pool_size),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": self.USER_AGENT},
        )

    async def shutdown(self) -> None:
        """Close the pool and every connection in it."""
        if self._session is not None:
            await self._session.close()

    # The timeouts' types are private to python-telegram-bot: whatever is no number stands for "default".
    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: object = BaseRequest.DEFAULT_NONE,
        write_timeout: object = BaseRequest.DEFAULT_NONE,
        connect_timeout: object = BaseRequest.DEFAULT_NONE,
        pool_timeout: object = BaseRequest.DEFAULT_NONE,
    ) -> tuple[int, bytes]:
        """Send one request and give status and body; raise RequestFailed, RequestTimedOut or BadRequest."""
        if self._session is None or self._session.closed:
            raise RuntimeError("AiohttpRequest is not initialized")
        has_files = request_data is not None and request_data.contains_files
        timeout = _timeout(
            is_download=method == "GET",
            read_s=_seconds(read_timeout, self._read_timeout_s),
            write_s=_seconds(
                write_timeout, self._media_write_timeout_s if has_files else self._write_timeout_s
            ),
            connect_s=_seconds(connect_timeout, self._connect_timeout_s),
            pool_s=_seconds(pool_timeout, self._pool_timeout_s),
        )
        try:
            async with self._session.request(
                method,
                url,
                data=_body(request_data),
                headers=None if has_files else _FORM,
                timeout=timeout,
                proxy=self._proxy(url),
                allow_redirects=False,
            ) as response:
                return _checked(url, method, response.status, await response.read())
        except (aiohttp.ClientError, OSError, ValueError) as error:
            failure = _failure(error)
        # Raised here, outside the except block: the original error's text has the URL, and with it the token.
        raise failure

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, object]:
        """Read an answer without logging it: a proxy's error page may repeat the URL."""
        try:
            answer = json.loads(payload)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise RequestFailed("The server's answer is not a JSON object", was_sent=True)
        return answer

    def _proxy(self, url: str) -> str | None:
        """Give the proxy the environment names for this host; looked up once a host, since it is slow."""
        parts = urlsplit(url)
        if parts.netloc not in self._proxies:
            is_direct = proxy_bypass(parts.hostname or "")
            self._proxies[parts.netloc] = None if is_direct else getproxies().get(parts.scheme)
        return self._proxies[parts.netloc]


def _seconds(value: object, default: float | None) -> float | None:
    return value if value is None or isinstance(value, int | float) else default


def _timeout(
    *,
    is_download: bool,
    read_s: float | None,
    write_s: float | None,
    connect_s: float | None,
    pool_s: float | None,
) -> aiohttp.ClientTimeout:
    """Translate four times into aiohttp's.

    aiohttp has no time limit for writing, so a call is limited as a whole; a download is not, its size is not
    known.
    """
    until_connected = None if pool_s is None or connect_s is None else pool_s + connect_s
    parts = (until_connected, write_s, read_s)
    total = None if is_download else sum(p for p in parts if p is not None) if None not in parts else None
    return aiohttp.ClientTimeout(
        total=total, connect=until_connected, sock_connect=connect_s, sock_read=read_s
    )


def _body(data: RequestData | None) -> aiohttp.FormData | BytesIO | bytes | None:
    if data is None:
        return None
    if not data.contains_files:
        form_text = data.url_encoded_parameters().encode()
        return form_text if len(form_text) < _LARGE_BYTES else BytesIO(form_text)
    # Unquoted, file names keep their accents, as Telegram's clients show them.
    form = aiohttp.FormData(data.json_parameters, quote_fields=False)
    for name, (filename, content, content_type) in (data.multipart_data or {}).items():
        # A stream, since aiohttp would write plain bytes in one go and hold the loop.
        stream = BytesIO(content) if isinstance(content, bytes) else content
        form.add_field(name, stream, filename=filename, content_type=content_type)
    return form


def _checked(url: str, method: str, status: int, body: bytes) -> tuple[int, bytes]:
    """Make the answer safe for BaseRequest, which shows bodies it cannot read and trusts a 200 blindly."""
    if method == "GET" and status == 200:
        return status, body
    if status == 200 and not body.startswith(_SUCCESS):
        answer = AiohttpRequest.parse_json_payload(body)
        code = answer.get("error_code")
        if answer.get("ok") is not True and isinstance(code, int):
            return code, body
        if "result" not in answer:
            raise RequestFailed("The server's answer has no result", was_sent=True)
    if status >= 300 and not _is_object(body):
        token = _TOKEN_IN_URL.search(url)
        shown = body.replace(token.group(1).encode(), b"<token>") if token else body
        return status, b"<" + shown[:_SHOWN_BODY_BYTES].lstrip(b"<[{")
    return status, body


def _is_object(body: bytes) -> bool:
    try:
        return isinstance(json.loads(body), dict)
    except ValueError:
        return False


def _failure(error: Exception) -> TelegramError:
    """Name what happened without the URL, and whether the request had gone out."""
    name = type(error).__name__
    match error:
        case UnicodeEncodeError():
            return BadRequest("Bad Request: strings must be encoded in UTF-8")
        case aiohttp.ConnectionTimeoutError():
            return RequestTimedOut("Timed out before a connection was there", was_sent=False)
        case TimeoutError():
            return RequestTimedOut("Timed out waiting for the answer", was_sent=True)
        case aiohttp.ClientConnectorError() | aiohttp.ClientHttpProxyError() | aiohttp.InvalidURL():
            return RequestFailed(f"Cannot connect ({name})", was_sent=False)
        case _:
            return RequestFailed(f"The connection was lost ({name})", was_sent=True)
