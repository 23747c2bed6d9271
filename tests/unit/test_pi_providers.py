"""Which key is missing when Pi says that one is."""

import json
from pathlib import Path

import pytest

from core.agents.environment import allowed_env
from core.agents.pi.providers import KEYS, USUAL, missing_keys


def pi_home(folder: Path, settings: object) -> dict[str, str]:
    """Give the environment of a Pi with these settings."""
    agent = folder / ".pi" / "agent"
    agent.mkdir(parents=True)
    (agent / "settings.json").write_text(json.dumps(settings))
    return {"HOME": str(folder)}


def test_the_provider_that_pi_names_tells_the_variable() -> None:
    """As Pi 1.6 says it for a model that was chosen."""
    assert missing_keys("No API key found for openrouter.", {}) == ("OPENROUTER_API_KEY",)


def test_else_the_model_names_the_provider() -> None:
    """As the session chose it."""
    error = "No API key found for the selected model."

    assert missing_keys(error, {}, "groq/llama") == ("GROQ_API_KEY",)


def test_else_pis_own_settings_name_it(tmp_path: Path) -> None:
    """Its default provider."""
    env = pi_home(tmp_path, {"defaultProvider": "mistral"})

    assert missing_keys("No API key found for the selected model.", env) == ("MISTRAL_API_KEY",)


@pytest.mark.parametrize("settings", [{}, [], {"defaultProvider": 3}, {"defaultProvider": "mine"}])
def test_else_the_usual_ones_are_offered(tmp_path: Path, settings: object) -> None:
    """Nobody knows which provider is meant."""
    assert missing_keys("No API key found for the selected model.", pi_home(tmp_path, settings)) == USUAL


def test_another_error_misses_no_key() -> None:
    """A quota is not a key."""
    assert missing_keys("429 quota exceeded", {}) == ()


@pytest.mark.parametrize("provider", KEYS)
def test_every_key_reaches_the_agent(provider: str) -> None:
    """What we tell people to set is passed on."""
    env = dict.fromkeys(KEYS[provider], "key")

    assert allowed_env(env) == env
