"""Samplers that are servers: our own engine or vLLM, reached over HTTP, with token ids in and out.

`sampler.py` is what a run asks, `server.py` the program that serves our engine. Between them: `transport` carries what
they say, `weights` brings a learner's weights to servers, `servers` starts servers and speaks with each kind. The files
of `inside_vllm` need no Assay, because a vLLM server has an environment of its own.
"""
