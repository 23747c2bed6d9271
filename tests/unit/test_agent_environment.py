"""What an agent may see of the bot's environment."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.agents.environment import OUTER_AGENT, PROVIDERS, allowed_env


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "HOME", "LANG", "LC_ALL", "TERM", "TZ", "SSH_AUTH_SOCK"),
        *("HTTPS_PROXY", "https_proxy", "NO_PROXY", "PI_CODING_AGENT_DIR", "PI_OFFLINE"),
        *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "AWS_PROFILE", "HF_TOKEN"),
        *("QWEN_TOKEN_PLAN_CN_API_KEY", "XIAOMI_TOKEN_PLAN_SGP_API_KEY"),
    ],
)
def test_what_a_coding_agent_needs_passes(name: str) -> None:
    """The fixed list of product.md 5."""
    assert allowed_env({name: "x"}) == {name: "x"}


@pytest.mark.parametrize(
    "name",
    [
        *("DATABASE_URL", "GITHUB_TOKEN", "TELEGRAM_TOKEN", "PWD", "LD_PRELOAD", "NODE_OPTIONS"),
        *("CLAUDECODE", "AI_AGENT", "PYTHONPATH", "path", "MY_PATH", *sorted(OUTER_AGENT)),
    ],
)
def test_everything_else_stays_with_the_bot(name: str) -> None:
    """Unknown names, and the marks of an agent around us."""
    assert allowed_env({name: "x"}) == {}


def test_named_variables_pass_too() -> None:
    """AUTO_IMPROVE_AGENT_ENV, with a star at the end where wanted."""
    base = {"MY_ONE": "1", "MY_TWO": "2", "NODE_OPTIONS": "3", "OTHER": "4"}

    assert allowed_env(base, ("MY_*", "NODE_OPTIONS")) == {"MY_ONE": "1", "MY_TWO": "2", "NODE_OPTIONS": "3"}


@given(st.sampled_from(["AUTO_IMPROVE_", "auto_improve_", "Auto_Improve_"]), st.text(max_size=20))
def test_our_own_variables_never_pass(prefix: str, rest: str) -> None:
    """Not even when somebody names them, or everything (S8)."""
    name = prefix + rest

    assert allowed_env({name: "x"}, (name, "*", "AUTO_*")) == {}


def test_every_provider_key_is_spelled_as_a_variable() -> None:
    """No doubles, in order: the list can be read."""
    assert sorted(set(PROVIDERS)) == list(PROVIDERS)
