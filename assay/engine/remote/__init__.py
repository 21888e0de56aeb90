"""Samplers that are servers: our own engine or vLLM, reached over HTTP, with token ids in and out."""
