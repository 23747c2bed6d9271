"""Which variables of the bot's environment an agent may see (product.md 5, AUTO_IMPROVE_AGENT_ENV).

Everything in Pi's environment is visible to the model's shell, so this is an allow-list.
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

BASICS = ("PATH", "HOME", "LANG", "LC_*", "TERM", "TZ", "SSH_AUTH_SOCK")
PROXIES = tuple(
    spelled
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
    for spelled in (name, name.lower())
)
PI = ("PI_*",)

# What Pi 0.84 and 1.6 themselves read to reach a model (pi-ai: env-api-keys, providers.md).
PROVIDERS = (
    "AI_GATEWAY_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_FEDERATION_RULE_ID",
    "ANTHROPIC_IDENTITY_TOKEN_FILE",
    "ANTHROPIC_OAUTH_TOKEN",
    "ANTHROPIC_ORGANIZATION_ID",
    "ANTHROPIC_SERVICE_ACCOUNT_ID",
    "ANTHROPIC_WORKSPACE_ID",
    "ANT_LING_API_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_DEFAULT_REGION",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_ROLE_ARN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AZURE_OPENAI_API_KEY",
    "AZURE_OPENAI_API_VERSION",
    "AZURE_OPENAI_BASE_URL",
    "AZURE_OPENAI_DEPLOYMENT_NAME_MAP",
    "AZURE_OPENAI_RESOURCE_NAME",
    "BASETEN_API_KEY",
    "CEREBRAS_API_KEY",
    "CLOUDFLARE_ACCOUNT_ID",
    "CLOUDFLARE_API_KEY",
    "CLOUDFLARE_GATEWAY_ID",
    "COPILOT_GITHUB_TOKEN",
    "DEEPSEEK_API_KEY",
    "FIREWORKS_API_KEY",
    "GCLOUD_PROJECT",
    "GEMINI_API_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_API_KEY",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_CLOUD_PROJECT",
    "GROQ_API_KEY",
    "HF_TOKEN",
    "KIMI_API_KEY",
    "LLAMA_API_KEY",
    "LLAMA_BASE_URL",
    "META_API_KEY",
    "MINIMAX_API_KEY",
    "MINIMAX_CN_API_KEY",
    "MISTRAL_API_KEY",
    "MOONSHOT_API_KEY",
    "NVIDIA_API_KEY",
    "OPENAI_API_KEY",
    "OPENCODE_API_KEY",
    "OPENROUTER_API_KEY",
    "QWEN_TOKEN_PLAN_*",
    "RADIUS_API_KEY",
    "TOGETHER_API_KEY",
    "TYPESAFE_API_KEY",
    "XAI_API_KEY",
    "XIAOMI_API_KEY",
    "XIAOMI_TOKEN_PLAN_*",
    "ZAI_API_KEY",
    "ZAI_CODING_CN_API_KEY",
)

# Marks of an agent around us: inherited, they would make a person's own bot look like an agent's child, and
# name a session that is not this one.
OUTER_AGENT = frozenset(
    ("PI_CODING_AGENT", "PI_SESSION_ID", "PI_SESSION_FILE", "PI_PROVIDER", "PI_MODEL", "PI_REASONING_LEVEL")
)
OURS = "AUTO_IMPROVE_*"


def allowed_env(base: Mapping[str, str], extra_names: Iterable[str] = ()) -> dict[str, str]:
    """Keep what an agent may see of `base`; `extra_names` may end in `*`, our own variables never pass."""
    patterns = (*BASICS, *PROXIES, *PI, *PROVIDERS, *extra_names)
    return {
        name: value
        for name, value in base.items()
        if name not in OUTER_AGENT
        and not fnmatchcase(name.upper(), OURS)
        and any(fnmatchcase(name, pattern) for pattern in patterns)
    }
