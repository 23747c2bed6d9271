"""What the stub provider plays in end-to-end tests, as data."""

import json

RULE = "Reproduce a bug before fixing it."
ANALYSIS = "^AUTO-IMPROVE ANALYSIS"

Json = dict[str, object]


def finding(verdict: str = "new", **more: object) -> str:
    """Write an analyst's reply."""
    fields: Json = {
        "verdict": verdict,
        "rule": RULE if verdict == "new" else "",
        "rationale": "The fix missed the cause.",
        "domain": "debug",
        "scope": "global",
        "lesson": None,
        "relation": None,
        "cause": "No reproduction.",
    }
    return json.dumps({**fields, **more})


def rule(match: str, *replies: str | Json) -> Json:
    """Answer user messages that match: text, or the stub's own form of a reply."""
    return {"match": match, "replies": [_reply(each) for each in replies]}


def analysis(reply: str | Json) -> Json:
    """Answer the analyst's request."""
    return rule(ANALYSIS, reply)


def bash(command: str) -> Json:
    """Call the shell."""
    return {"tool_calls": [{"name": "bash", "arguments": {"command": command}}]}


def script(*rules: Json) -> Json:
    """Put rules together: the first that matches counts, everything else is answered "fine N"."""
    usual = [rule("^fix", "I **fixed** it."), analysis(finding())]
    return {"rules": [*rules, *usual], "default": {"text": "fine {{n}}"}}


def _reply(reply: str | Json) -> Json:
    return {"text": reply} if isinstance(reply, str) else reply
