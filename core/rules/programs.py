"""What is known about programs: who wraps whom, who has subcommands, whose options take values.

The tables behind learning.md 5.2.
"""

from dataclasses import dataclass


def word_set(words: str) -> frozenset[str]:
    """Split a table's words."""
    return frozenset(words.split())


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A program that runs another one: its options with values, and how many words it takes before it."""

    valued: frozenset[str] = frozenset()
    words: int = 0


def _wraps(valued: str = "", words: int = 0) -> Wrapper:
    return Wrapper(word_set(valued), words)


SHELLS = word_set("bash sh zsh dash ksh ash fish mksh rbash")
SHELL_VALUED = word_set("-o +o -O +O --rcfile --init-file")

PRODUCERS = word_set("echo printf cat yes seq")
DECORATIONS = word_set("echo printf")
SETUP = word_set(
    "cd export source . set pushd popd true false : declare typeset local readonly unset alias unalias"
    " trap shopt"
    " ulimit umask exit return break continue shift wait sleep read setopt unsetopt"
)
KEYWORDS = word_set(
    "then do else elif fi done esac in { } ! if while until for case select function noglob nocorrect"
)
"""Words that a broken line leaves where a program would stand."""

PREFIXES: dict[str, Wrapper] = {
    "sudo": _wraps(
        "-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --close-from --role --type --chdir"
        " --chroot --command-timeout --other-user"
    ),
    "doas": _wraps("-u -C"),
    "time": _wraps("-f -o --format --output"),
    "gtime": _wraps("-f -o --format --output"),
    "env": _wraps("-u -C -a --unset --chdir --argv0"),
    "nohup": _wraps(),
    "nice": _wraps("-n --adjustment"),
    "ionice": _wraps("-c -n --class --classdata -p -P -u"),
    "timeout": _wraps("-k -s --kill-after --signal", words=1),
    "gtimeout": _wraps("-k -s --kill-after --signal", words=1),
    "xargs": _wraps(
        "-n -I -P -L -d -a -E -s --max-args --max-procs --max-lines --delimiter --arg-file --max-chars"
        " --process-slot-var -J -R -S"
    ),
    "command": _wraps(),
    "builtin": _wraps(),
    "exec": _wraps("-a"),
    "coproc": _wraps(),
    "stdbuf": _wraps("-i -o -e --input --output --error"),
    "unbuffer": _wraps(),
    "setsid": _wraps(),
    "strace": _wraps("-o -e -s -p -u -E -a -P -O -S -b -I -X"),
    "ltrace": _wraps("-o -e -s -p -u -a -n -l -x"),
    "chrt": _wraps("-T -P -D", words=1),
    "taskset": _wraps("", words=1),
    "chroot": _wraps("", words=1),
    "flock": _wraps("-w -E --wait --timeout --conflict-exit-code", words=1),
    "systemd-run": _wraps(
        "-u -p -M -E -H --unit --property --uid --gid --slice --machine --setenv --description"
    ),
    "caffeinate": _wraps("-t -w"),
    "parallel": _wraps(
        "-j -a -S -I -N -L -n --jobs --arg-file --colsep --delay --joblog --timeout --retries"
    ),
    "entr": _wraps(),
    "cross-env": _wraps(),
    "xvfb-run": _wraps("-n -s -e -f -p -w --server-num --server-args --error-file --auth-file"),
    "dbus-run-session": _wraps("--config-file --dbus-daemon"),
    "proxychains": _wraps("-f"),
    "proxychains4": _wraps("-f"),
    "torsocks": _wraps("-u -p -a -P"),
    "fakeroot": _wraps("-l -s -i -b --lib --faked"),
    "eatmydata": _wraps(),
    "chronic": _wraps(),
    "firejail": _wraps(),
    "rlwrap": _wraps("-f -H -s -C -D -q -l -P -S -b"),
    "sshpass": _wraps("-p -f -d -P"),
    "setarch": _wraps("", words=1),
    "unshare": _wraps("-S -G"),
    "nsenter": _wraps("-t -S -G --target"),
    "setpriv": _wraps("--reuid --regid --groups --inh-caps --bounding-set"),
    "prlimit": _wraps(),
    "winpty": _wraps(),
    "xcrun": _wraps("--sdk --toolchain -sdk"),
    "npx": _wraps("-p --package -w --workspace --registry --prefix"),
    "pnpx": _wraps("-p --package"),
    "bunx": _wraps("-p --package"),
    "runuser": _wraps("-u -g -G -s --user --group --shell"),
    "uvx": _wraps(
        "--from --with --with-requirements -p --python --index-url --default-index --index --env-file"
    ),
}
"""Peeled off wherever they stand first."""

PREFIX_ALONE: dict[str, frozenset[str]] = {
    "command": word_set("-v -V"),
    "sudo": word_set("-l -v -k -K -V -e --list --validate --edit --version"),
    "ionice": word_set("-p"),
    "strace": word_set("-p"),
    "env": word_set("--version --help"),
}
"""Options with which a prefix runs nothing: it is the program then."""

SCRIPT_OPTIONS: dict[str, frozenset[str]] = {
    "npx": word_set("-c --call"),
    "env": word_set("-S --split-string"),
    "flock": word_set("-c --command"),
}
"""Options of prefixes whose value is a command line."""
LATE_SCRIPT_PROGRAMS = word_set("su runuser script nix-shell")
"""Take a command line by `-c`, `--command` or `--run`, wherever it stands."""

RUNNERS: dict[tuple[str, str], Wrapper] = {
    ("uv", "run"): _wraps(
        "--with --with-editable --with-requirements -p --python --project --directory --extra --group"
        " --env-file"
        " --package --index --default-index --no-group --only-group --isolated-from --cache-dir"
        " --config-file"
    ),
    ("pipx", "run"): _wraps("--spec --python --pip-args --index-url"),
    ("poetry", "run"): _wraps(),
    ("pipenv", "run"): _wraps(),
    ("pdm", "run"): _wraps("-p --project -S --site-packages"),
    ("rye", "run"): _wraps("-p --pyproject"),
    ("hatch", "run"): _wraps(),
    ("pixi", "run"): _wraps("-e --environment --manifest-path"),
    ("conda", "run"): _wraps("-n -p --name --prefix --cwd"),
    ("mamba", "run"): _wraps("-n -p --name --prefix --cwd"),
    ("micromamba", "run"): _wraps("-n -p --name --prefix --cwd"),
    ("bundle", "exec"): _wraps("--gemfile"),
    ("npm", "exec"): _wraps("-p --package -w --workspace"),
    ("npm", "x"): _wraps("-p --package -w --workspace"),
    ("pnpm", "exec"): _wraps(),
    ("pnpm", "dlx"): _wraps("--package"),
    ("yarn", "exec"): _wraps(),
    ("yarn", "dlx"): _wraps("-p --package"),
    ("bun", "x"): _wraps("-p --package"),
    ("composer", "exec"): _wraps(),
    ("rustup", "run"): _wraps("", words=1),
    ("direnv", "exec"): _wraps("", words=1),
    ("rbenv", "exec"): _wraps(),
    ("pyenv", "exec"): _wraps(),
    ("asdf", "exec"): _wraps(),
    ("nvm", "exec"): _wraps("", words=1),
    ("fnm", "exec"): _wraps("--using"),
    ("volta", "run"): _wraps("--node --npm --yarn --pnpm"),
    ("mise", "exec"): _wraps(),
    ("mise", "x"): _wraps(),
    ("dotenv", "run"): _wraps(),
    ("dotenvx", "run"): _wraps("-f -e --env-file --env"),
    ("doppler", "run"): _wraps("-p -c -t --project --config --token"),
    ("infisical", "run"): _wraps("--env --path --projectId"),
    ("op", "run"): _wraps("--env-file --account"),
    ("aws-vault", "exec"): _wraps("-d --duration", words=1),
    ("chamber", "exec"): _wraps("", words=1),
}
"""Subcommands that run the program named after them: that one is the program."""

SCRIPT_PROGRAMS = word_set("npm pnpm yarn bun")
SCRIPT_RUN = word_set("run run-script rum urn")

INTERPRETERS = word_set(
    "python python2 python3 pypy pypy3 py node nodejs ruby perl php java deno ts-node tsx lua Rscript"
)
"""What they run is a script: two scripts are two jobs (learning.md 5.4)."""
PYTHON_VALUED = word_set("-W -X -Q --check-hash-based-pycs")
PHP_CONSOLES = word_set("artisan console yii")

_NPM = "--prefix -C -w --workspace --registry --userconfig --globalconfig --loglevel --cache --script-shell"
_COMPOSE = "-f --file -p --project-name --profile --env-file --project-directory --ansi --parallel"
_KUBE = (
    "-n --namespace --context --cluster --kubeconfig --user -s --server --token --as --as-group --cache-dir"
    " --request-timeout -v --certificate-authority --client-key --client-certificate --tls-server-name"
)
_SUBCOMMANDS_WITH_OPTIONS = {
    "git": "-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --attr-source",
    "gh": "-R --repo --hostname",
    "glab": "-R --repo",
    "hg": "-R --repository --cwd --config --encoding",
    "jj": "-R --repository --config --at-op",
    "svn": "--username --password --config-dir --config-option",
    "npm": _NPM,
    "pnpm": "-C --dir -F --filter --filter-prod --reporter --loglevel --config --workspace-concurrency",
    "yarn": "--cwd --registry --cache-folder --modules-folder --mutex --network-timeout -W",
    "bun": "--cwd -F --filter --env-file -c --config -r --preload --port",
    "lerna": "--scope --ignore --concurrency --loglevel",
    "turbo": "--cwd --filter --api --token --team",
    "docker": "-H --host -l --log-level --config -c --context --tlscacert --tlscert --tlskey",
    "docker-compose": _COMPOSE,
    "podman": "-c --connection --url --root --runroot --log-level --identity --storage-driver --storage-opt",
    "podman-compose": _COMPOSE,
    "nerdctl": "-n --namespace -a --address -H --host",
    "crictl": "-r --runtime-endpoint -i --image-endpoint -c --config -t --timeout",
    "ctr": "-n --namespace -a --address --timeout --connect-timeout",
    "kubectl": _KUBE,
    "oc": _KUBE,
    "helm": "-n --namespace --kube-context --kubeconfig --kube-apiserver --kube-token --registry-config",
    "minikube": "-p --profile -b --bootstrapper",
    "kustomize": "",
    "istioctl": "-n --namespace --context --kubeconfig -i",
    "argocd": "--server --auth-token --config --grpc-web-root-path",
    "flux": "-n --namespace --context --kubeconfig --timeout",
    "velero": "-n --namespace --kubeconfig --kubecontext",
    "skaffold": "-v --verbosity --update",
    "cargo": "--config -Z -C --color --manifest-path",
    "rustup": "",
    "go": "-C",
    "pip": "--python --log --proxy --timeout --cert --client-cert --cache-dir --trusted-host --retries"
    " --exists-action",
    "uv": "--directory --project --config-file --cache-dir --color --allow-insecure-host",
    "poetry": "-C --directory -P --project",
    "pdm": "-c --config",
    "hatch": "-e --env -p --project --config --data-dir --cache-dir",
    "conda": "",
    "mamba": "-n --name -p --prefix",
    "micromamba": "-r --root-prefix --rc-file",
    "apt": "-o -c -t --option --config-file --target-release",
    "apt-get": "-o -c -t --option --config-file --target-release",
    "aptitude": "-o -t",
    "dnf": "-c --config --installroot --releasever --repo --enablerepo --disablerepo --setopt -x --exclude",
    "yum": "-c --config --installroot --releasever --enablerepo --disablerepo --setopt -x --exclude",
    "zypper": "-R --root -c --config",
    "apk": "-p --root -X --repository --arch --cache-dir --keys-dir --repositories-file",
    "systemctl": "-H --host -M --machine -t --type -p --property -n --lines -o --output -s --signal"
    " --state --root",
    "loginctl": "-H -M -p -n -o",
    "terraform": "",
    "terragrunt": "--terragrunt-config --terragrunt-working-dir --working-dir --config",
    "tofu": "",
    "pulumi": "-C --cwd -s --stack --color -v --profiling --tracing",
    "cdk": "-a --app -c --context -p --plugin --profile -o --output --role-arn -r --toolkit-stack-name",
    "sam": "",
    "aws": "--profile --region --output --endpoint-url --query --ca-bundle --cli-read-timeout"
    " --cli-connect-timeout"
    " --color",
    "gcloud": "--project --account --configuration --format --verbosity --impersonate-service-account"
    " --zone --region"
    " --billing-project --filter",
    "gsutil": "-o -h -u",
    "bq": "--project_id --location --format --dataset_id",
    "az": "-o --output --subscription --query",
    "doctl": "-t --access-token -c --config --context -o --output -u --api-url",
    "firebase": "-P --project --token --config --account",
    "vercel": "--cwd -t --token -S --scope -A --local-config -Q --global-config",
    "netlify": "--auth --filter",
    "wrangler": "-c --config --cwd -e --env",
    "fly": "-a --app -c --config -t --access-token",
    "flyctl": "-a --app -c --config -t --access-token",
    "supabase": "--workdir --profile --network-id",
    "gradle": "-p --project-dir -b --build-file -c --settings-file -I --init-script -x --exclude-task -g"
    " --gradle-user-home --console --max-workers --include-build -P -D --warning-mode --project-prop",
    "mvn": "-f --file -s --settings -gs --global-settings -pl --projects -P -D -l --log-file -T"
    " --threads -t"
    " --toolchains -rf --resume-from -gt -b --builder --define --activate-profiles",
    "sbt": "",
    "make": "-C -f -I -o -W --directory --file --makefile --include-dir --old-file --assume-new --eval",
    "gmake": "-C -f -I -o -W --directory --file --makefile --include-dir",
    "remake": "-C -f -I",
    "ninja": "-C -f -j -k -l -d -w -t",
    "just": "-f --justfile -d --working-directory --shell --dotenv-path --dotenv-filename",
    "task": "-t --taskfile -d --dir -o --output -C --concurrency",
    "rake": "-f --rakefile -I --libdir -r --require -R --rakelibdir -C --directory -j --jobs",
    "invoke": "-c --collection -r --search-root -f --config",
    "inv": "-c --collection -r --search-root -f --config",
    "dotnet": "--fx-version --roll-forward --depsfile --runtimeconfig --additionalprobingpath",
    "composer": "-d --working-dir",
    "symfony": "--dir",
    "rails": "",
    "bundle": "--retry -r",
    "gem": "--config-file",
    "pod": "",
    "mix": "",
    "swift": "--package-path -c --configuration --scratch-path",
    "flutter": "-d --device-id",
    "dart": "",
    "deno": "",
    "bazel": "",
    "bazelisk": "",
    "stack": "--resolver --stack-yaml --work-dir --jobs -j",
    "cabal": "--config-file",
    "opam": "--switch --root",
    "dune": "--root",
    "zig": "",
    "nix": "--option --extra-experimental-features -I -f --file",
    "lein": "",
    "tmux": "-L -S -f -c -T",
    "redis-cli": "-h -p -a -n -u -s -r -i -d --user --pass --cacert --cert --key",
    "celery": "-A --app -b --broker --result-backend --loader --config --workdir",
    "flask": "-A --app -e --env-file",
    "alembic": "-c --config -n --name -x",
    "dbt": "--profiles-dir --project-dir --target --profile",
    "pre-commit": "-c --config",
    "ruff": "--config --color --isolated-from",
    "coverage": "--rcfile --data-file",
    "vault": "",
    "consul": "",
    "nomad": "",
    "packer": "",
    "vagrant": "",
    "ansible-galaxy": "",
    "ansible-vault": "",
    "pm2": "",
    "supervisorctl": "-c --configuration -s --serverurl -u --username -p --password",
    "ip": "-n -netns -f -family -rc",
    "virsh": "-c --connect",
    "rclone": "--config --log-file --log-level",
    "restic": "-r --repo -p --password-file -o --option --cache-dir",
    "etcdctl": "--endpoints --cert --key --cacert --user",
    "mise": "-C --cd -E --env",
    "heroku": "-a --app -r --remote",
    "drush": "-r --root -l --uri",
    "wp": "--path --url --ssh --user --require",
    "wasm-pack": "--log-level",
    "buf": "--config",
    "openssl": "",
    "php": "-d -c",
    "hugo": "-s --source -d --destination --config -e --environment",
    "jupyter": "",
}
_SUBCOMMANDS = """
    pip2 pip3 pipenv pipx rye pixi twine flit django-admin scrapy fastapi streamlit mlflow wandb dvc
    airflow dagster prefect meltano hf huggingface-cli ollama kaggle brew port snap flatpak pacman-key
    choco winget scoop apt-cache apt-mark apt-key pkg opkg launchctl timedatectl hostnamectl networkctl
    resolvectl machinectl bluetoothctl nmcli ufw tc perf bpftool zfs zpool lxc multipass tailscale
    cloudflared ngrok wg nvm pyenv rbenv asdf volta fnm nodenv goenv jenv sdk rvm tfenv direnv nx ng
    next nuxt nuxi vite astro remix gatsby expo eas react-native ionic cap vue storybook sb cypress
    playwright prisma drizzle-kit knex sequelize typeorm nest biome changeset rush corepack parcel
    docusaurus railway sentry-cli stripe twilio hcloud linode-cli oci ibmcloud sfdx sf cf serverless sls
    sst amplify eksctl kind k3d k3s tilt linkerd kubeadm kops boundary waypoint skopeo buildah crane
    gradlew mvnw mvnd cmake-js rebar3 nim crystal gleam elm pub fastlane luarocks carthage xcodegen
    tuist cocoapods jekyll sail valet pecl pear git-lfs git-annex gitlab hub tea mc minio borg trivy
    grype snyk syft cosign semgrep codeql trunk moon buck2 pants please earthly dagger simctl devicectl
    adb-shell anchor forge cast hardhat truffle foundryup solana near sui aptos op bw gopass pass
    age-keygen doppler infisical dotenvx aws-vault chamber auto-improve
"""
SUBCOMMANDS: dict[str, frozenset[str]] = {
    **{name: frozenset() for name in _SUBCOMMANDS.split()},
    **{name: word_set(valued) for name, valued in _SUBCOMMANDS_WITH_OPTIONS.items()},
}
"""Programs of two levels, with those global options that take the next word as their value."""
for _same, _as in {"gradlew": "gradle", "mvnw": "mvn", "mvnd": "mvn", "pip3": "pip", "pip2": "pip"}.items():
    SUBCOMMANDS[_same] = SUBCOMMANDS[_as]

TARGET_PROGRAMS = word_set("make gmake remake ninja just task rake gradle gradlew mvn mvnw mvnd")
"""Their second level is a target: assignments before it are skipped, and it may be a path."""
