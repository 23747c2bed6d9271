"""Which variable holds the key of which model provider, as Pi 1.6 reads it (pi-ai: env-api-keys)."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

KEYS: Mapping[str, tuple[str, ...]] = {
    "amazon-bedrock": ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK"),
    "ant-ling": ("ANT_LING_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN"),
    "azure": ("AZURE_OPENAI_API_KEY",),
    "baseten": ("BASETEN_API_KEY",),
    "cerebras": ("CEREBRAS_API_KEY",),
    "cloudflare-ai-gateway": ("CLOUDFLARE_API_KEY",),
    "cloudflare-workers-ai": ("CLOUDFLARE_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks": ("FIREWORKS_API_KEY",),
    "github-copilot": ("COPILOT_GITHUB_TOKEN",),
    "google": ("GEMINI_API_KEY",),
    "google-vertex": ("GOOGLE_CLOUD_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "huggingface": ("HF_TOKEN",),
    "kimi-coding": ("KIMI_API_KEY",),
    "meta": ("META_API_KEY",),
    "minimax": ("MINIMAX_API_KEY",),
    "minimax-cn": ("MINIMAX_CN_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "moonshotai": ("MOONSHOT_API_KEY",),
    "moonshotai-cn": ("MOONSHOT_API_KEY",),
    "nvidia": ("NVIDIA_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "opencode": ("OPENCODE_API_KEY",),
    "opencode-go": ("OPENCODE_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "qwen-token-plan": ("QWEN_TOKEN_PLAN_TEAM_API_KEY", "QWEN_TOKEN_PLAN_API_KEY"),
    "radius": ("RADIUS_API_KEY",),
    "together": ("TOGETHER_API_KEY",),
    "typesafe": ("TYPESAFE_API_KEY",),
    "vercel-ai-gateway": ("AI_GATEWAY_API_KEY",),
    "xai": ("XAI_API_KEY",),
    "xiaomi": ("XIAOMI_API_KEY",),
    "zai": ("ZAI_API_KEY",),
    "zai-coding-cn": ("ZAI_CODING_CN_API_KEY",),
}
USUAL = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")

NO_KEY = "No API key"
_NAMED = re.compile(r"No API key found for ([a-z0-9-]+)\.?$", re.MULTILINE)


def missing_keys(error: str, env: Mapping[str, str], model: str | None = None) -> tuple[str, ...]:
    """Give the variables, one of which Pi wanted when it said `error`; none where no key was missing.

    The provider is the one Pi names, else the model's, else the default of Pi's own settings.
    """
    if NO_KEY not in error:
        return ()
    named = _NAMED.search(error)
    provider = named[1] if named else (model or "").partition("/")[0] or default_provider(env)
    return KEYS.get(provider, USUAL)


def default_provider(env: Mapping[str, str]) -> str:
    """Give the provider that Pi's own settings name, "" where they name none or cannot be read."""
    folder = env.get("PI_CODING_AGENT_DIR") or str(Path(env.get("HOME", "~"), ".pi", "agent"))
    try:
        settings = json.loads(Path(folder, "settings.json").expanduser().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    provider = settings.get("defaultProvider") if isinstance(settings, dict) else None
    return provider if isinstance(provider, str) else ""
