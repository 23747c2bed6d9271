"""A clean home for a real Pi whose only model is the stub provider."""

import json
import os
from pathlib import Path

MODEL = "stub/stub-1"


def make_pi_home(folder: Path, base_url: str) -> dict[str, str]:
    """Write Pi's settings for the stub under `folder`; give the whole environment to start Pi with."""
    agent = folder / "agent"
    agent.mkdir(parents=True, exist_ok=True)
    home = folder / "home"
    home.mkdir(exist_ok=True)
    models = [{"id": "stub-1", "name": "Stub One", "contextWindow": 128000, "maxTokens": 4096}]
    provider = {"baseUrl": base_url, "api": "openai-completions", "apiKey": "stub-key", "models": models}
    settings = {"defaultProvider": "stub", "defaultModel": "stub-1", "retry": {"baseDelayMs": 50}}
    (agent / "models.json").write_text(json.dumps({"providers": {"stub": provider}}))
    (agent / "settings.json").write_text(json.dumps(settings))
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PI_CODING_AGENT_DIR": str(agent),
        "PI_OFFLINE": "1",
        "PI_TELEMETRY": "0",
        "PI_SKIP_VERSION_CHECK": "1",
    }
