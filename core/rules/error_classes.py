"""Which class an error text belongs to (learning.md 5.1)."""

import re
from collections.abc import Callable
from functools import cache

from core.model.trace import ErrorClass

_BY_STATUS = {
    124: ErrorClass.TIMEOUT,
    126: ErrorClass.PERMISSION_DENIED,
    127: ErrorClass.COMMAND_NOT_FOUND,
}

_PATTERNS: dict[ErrorClass, str] = {
    ErrorClass.TIMEOUT: r"""
        (?:command|process|execution|run|tool)\ (?:has\ )?timed\ out | timed\ out\ after\ \d
        | ^timeout: .* | TimeoutExpired | exceeded\ (?:the\ )?(?:time\ limit|timeout)
        | time\ limit\ exceeded
        | exceeded\ timeout\ of | timeout\ of\ \d+\ ?(?:ms|s)\ exceeded | execution\ expired""",
    ErrorClass.COMMAND_NOT_FOUND: r"""
        command\ not\ found | ^(?:/bin/)?(?:ba|da|z)?sh:\ (?:line\ )?(?:\d+:\ )?[^:\n]+:\ not\ found$
        | is\ not\ recognized\ as\ (?:an\ internal|the\ name\ of)
        | ^(?:/usr/bin/)?env:\ [‘'"]?[^\s:]+:\ No\ such\ file
        | executable\ file\ not\ found | ^[^\n:]*\bspawn\ \S+\ ENOENT | Unknown\ command:\ .*\nperhaps
        | failed\ to\ run\ command\ .*No\ such\ file | No\ such\ command\ or\ script""",
    ErrorClass.NETWORK: r"""
        Could\ not\ resolve\ (?:host|proxy) | \bENOTFOUND | \bECONNREFUSED | \bECONNRESET | \bETIMEDOUT
        | \bEAI_AGAIN | getaddrinfo
        | Connection\ (?:refused|reset|timed\ out|aborted) | Network\ is\ unreachable
        | Temporary\ failure\ in\ name\ resolution
        | Failed\ to\ connect | Name\ or\ service\ not\ known | TLS\ handshake
        | SSL(?:Error|_ERROR|\ certificate)
        | No\ route\ to\ host | ConnectionError | Max\ retries\ exceeded | network\ (?:error|timeout)
        | Unable\ to\ connect
        | The\ requested\ URL\ returned\ error:\ 5\d\d | 50[234]\ (?:Bad|Service|Gateway)
        | Cannot\ connect\ to | i/o\ timeout
        | socket\ hang\ up""",
    ErrorClass.USAGE: r"""
        Missing\ script | Couldn't\ find\ a\ script\ named
        | Command\ ["'][^"'\n]+["']\ (?:not\ found|is\ not\ defined)
        | (?:unknown|unrecognized|unrecognised|invalid|illegal|bad|no\ such|unsupported
          |unexpected)\ (?:long\ |short\ |shorthand\ )?
          (?:option|options|argument|arguments|flag|flags|command|sub-?command|task|target|switch|parameter
          |lifecycle\ phase)\b
        | unrecognized\ arguments | invalid\ choice | No\ rule\ to\ make\ target | is\ not\ a\ \w+\ command
        | not\ a\ recognized\ command
        | missing\ (?:required\ )?(?:\w+\ )?(?:argument|operand|parameter|option)
        | (?:option|flag|argument)\b[^\n]{0,60}\brequires\ (?:an?\ )?(?:argument|value|parameter)
        | requires\ an\ argument
        | arguments?\ (?:are|is|were|was)\ (?:required|not\ provided|missing) | too\ (?:few|many)\ arguments
        | (?:required|following)\ arguments?\b | not\ enough\ arguments | missing\ file\ operand
        | Task\ '[^'\n]+'\ (?:not\ found|is\ ambiguous) | Don't\ know\ how\ to\ build\ task
        | Could\ not\ find\ (?:command|task)\b
        | no\ (?:bin|test|example|bench)\ target\ named | target\ ['"‘`]?\S+['"’`]?\ does\ not\ exist
        | ^ERROR:\ not\ found: | ^(?:\S+:\ )?usage:?\ | unknown\ lifecycle\ phase
        | Unknown\ (?:syntax|revision)
        | Nothing\ to\ be\ done\ without | no\ recipe\ named | does\ not\ contain\ recipe
        | which\ wasn't\ expected | Script\ not\ found | Task\ not\ found | Task\ \S+\ does\ not\ exist
        | Unrecognized\ command | Unknown\ compiler\ option | No\ targets\ specified
        | specified\ command\ or\ file\ was\ not\ found | must\ give\ at\ least\ one
        | doesn't\ have\ a\ resource\ type | -r\ not\ specified
        | Must\ specify""",
    ErrorClass.IMPORT_ERROR: r"""
        ModuleNotFoundError | \bImportError\b | No\ module\ named | Cannot\ find\ (?:module|package)
        | MODULE_NOT_FOUND
        | Module\ not\ found | cannot\ load\ such\ file | ClassNotFoundException | NoClassDefFoundError
        | unresolved\ import
        | no\ required\ module\ provides | is\ not\ in\ (?:std|GOROOT) | cannot\ find\ package
        | No\ matching\ distribution
        | Could\ not\ find\ a\ version | Failed\ to\ import\ test\ module
        | errors?\ (?:during|while)\ collecti | ^ERROR\ collecting
        | Unable\ to\ locate\ package | could\ not\ find\ crate | no\ matching\ package\ named
        | Could\ not\ resolve\ dependenc
        | Failed\ to\ resolve\ import | Can't\ locate\ \S+\ in\ @INC | package\ \S+\ does\ not\ exist
        | there\ is\ no\ package\ called | \bE404 | is\ not\ in\ this\ registry""",
    ErrorClass.SYNTAX: r"""
        SyntaxError | IndentationError | TabError | syntax\ error | unexpected\ EOF | ParseError
        | parse\ error
        | Unexpected\ token | Unterminated\ (?:string|quoted|regex) | unmatched\ [`'"({\[]
        | unterminated\ `s'
        | unknown\ option\ to\ `s' | unexpected\ end\ of\ (?:file|input)""",
    ErrorClass.PERMISSION_DENIED: r"""
        permission\ denied | \bEACCES | Operation\ not\ permitted | \bEPERM\b | PermissionError
        | Access\ (?:is\ )?denied
        | AccessDenied | must\ be\ (?:run\ as\ )?root | Read-only\ file\ system | are\ you\ root
        | dubious\ ownership
        | Authentication\ failed | \b401\ Unauthorized | \b403\ Forbidden | \bE40[13]\b""",
    ErrorClass.NO_SUCH_FILE: r"""
        No\ such\ file\ or\ directory | \bENOENT | FileNotFoundError | can't\ open\ file
        | cannot\ find\ the\ (?:file|path)
        | file\ or\ directory\ not\ found
        | (?:file|directory|path)\ (?:\S+\ )?(?:does\ not\ exist|not\ found|doesn't\ exist)
        | did\ not\ match\ any\ file | cannot\ access\ '""",
    ErrorClass.CONFLICT: r"""
        ^CONFLICT | merge\ conflict | Automatic\ merge\ failed | \[rejected\] | non-fast-forward
        | already\ exists
        | address\ already\ in\ use | \bEADDRINUSE | would\ be\ overwritten | \bERESOLVE
        | conflicting\ dependenc
        | ResolutionImpossible | index\.lock | could\ not\ (?:get|acquire|obtain)\ (?:a\ )?lock
        | patch\ does\ not\ apply
        | Hunk\ \x23\d+\ FAILED | port\ is\ already\ allocated | needs\ merge | unmerged\ files
        | failed\ to\ push\ some\ refs | Updates\ were\ rejected | divergent\ branches
        | Could\ not\ find\ the\ exact\ text | is\ being\ used\ by\ another\ process
        | Resource\ temporarily\ unavailable""",
}
_GENERAL = r"""
    ^(?:error|fatal|panic|\w*Error|\w*Exception)\b.* | \bERR!.* | \berror:.*"""
_EXCEPTION = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Expired|Interrupt|Exit)\b.*", re.MULTILINE)
_EVIDENCE_LIMIT = 200
_SPACE = re.compile(r"\\ |\s+")


def classify(text: str, exit_code: int | None) -> ErrorClass:
    """Name the class of a failure by its status, else by its text.

    Of a Python traceback only the last exception speaks: what stands above it is code.
    """
    if exit_code in _BY_STATUS:
        return _BY_STATUS[exit_code]
    spoken = _last_exception(text) or text
    return next((kind for kind, find in _finders().items() if find(spoken)), ErrorClass.OTHER)


def find_evidence(text: str) -> str | None:
    """Find the line part that says what went wrong; None where no error is told."""
    if exception := _last_exception(text):
        return exception
    for find in (*_finders().values(), finder(_GENERAL)):
        if found := find(text):
            return found[:_EVIDENCE_LIMIT]
    return None


@cache
def finder(pattern: str, *, ignores_case: bool = True) -> Callable[[str], str | None]:
    """Make a search for the first match of a pattern, in which unescaped space means nothing.

    RE2 (google-re2, imported lazily) needs a tenth of the time that `re` takes for such alternatives.
    """
    import re2  # noqa: PLC0415 - lazy: not needed at start

    flags = "(?im)" if ignores_case else "(?m)"
    search = re2.compile(flags + _SPACE.sub(lambda space: " " if space[0] == "\\ " else "", pattern)).search

    def find(text: str) -> str | None:
        match = search(text)
        return str(match[0]) if match else None

    return find


@cache
def _finders() -> dict[ErrorClass, Callable[[str], str | None]]:
    return {kind: finder(pattern) for kind, pattern in _PATTERNS.items()}


def _last_exception(text: str) -> str | None:
    start = text.rfind("Traceback (most recent call last)")
    if start < 0:
        return None
    lines = [found[0] for found in _EXCEPTION.finditer(text, start)]
    return lines[-1] if lines else None
