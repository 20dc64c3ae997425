#!/bin/sh
# Runs the tests on another version of torch: sh tests/on-torch.sh PYTHON VERSION [pytest's arguments], or only makes the
# environment: sh tests/on-torch.sh PYTHON VERSION --install.
# One environment at a time, in .venv-torch, because each takes several gigabytes; `make clean-torch` removes it. gradscope
# is installed as a user does it: from this folder, without the versions of constraints.txt.
set -eu
interpreter=$1
version=$2
shift 2
cd "$(dirname "$0")/.."
stamp="$version $(cksum < pyproject.toml)"
known=$(cat .venv-torch/stamp 2>/dev/null || true)
if [ "${known%% *}" != "$version" ]; then
    rm -rf .venv-torch
    "$interpreter" -m venv .venv-torch
    echo "Installing torch $version into .venv-torch (about a minute, several gigabytes)"
fi
if [ "$known" != "$stamp" ]; then # also where only what the tests need has changed
    .venv-torch/bin/python -m pip install --disable-pip-version-check --quiet "torch==$version" ".[dev]"
    echo "$stamp" > .venv-torch/stamp
fi
[ "${1:-}" != --install ] || exit 0
.venv-torch/bin/python -m pip install --disable-pip-version-check --quiet --no-deps --force-reinstall .
sh tests/setup-system.sh
.venv-torch/bin/python -m gradscope doctor || true # what is off with this torch, is said; the tests name it where they skip
exec .venv-torch/bin/python -m pytest -n 2 --dist worksteal "$@"
