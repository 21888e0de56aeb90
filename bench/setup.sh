#!/usr/bin/env bash
# Makes the environments of the other systems: .venv-trl and .venv-vllm. Ours is .venv, made by `make`.
# usage: bash bench/setup.sh [trl] [vllm]
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3.11}

for system in "${@:-trl vllm}"; do
  for name in $system; do
    "$python" -m venv ".venv-$name"
    # torch first and alone: the other requirements would otherwise choose a build with CUDA.
    ".venv-$name/bin/pip" install --quiet torch==2.13.0
    ".venv-$name/bin/pip" install --quiet --requirement "bench/requirements-$name.txt"
    if [ "$name" = vllm ]; then
      # They come for another build of torch and break the import; nothing here needs them.
      .venv-vllm/bin/pip uninstall --quiet --yes torchvision torchaudio torchcodec
    fi
    ".venv-$name/bin/python" -c "import ${name}; print('${name}', ${name}.__version__)"
  done
done
