"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

BUSY = ("expand:ask-rewrites", "expand:show-rewrites", "forwards:rewriter-tokens")
ALONG = {"curate:weigh-edits": ("expand:ask-rewrites",)}
IDLE = {"curate:weigh-edits": {"same": 0.5}}  # where nothing was rewritten

TEXTS = {
    f"{part}.{field}": "a model, a role or a store of the recipe"
    for part in ("AskRewrites", "RewriterTokens", "ShowRewrites")
    for field in ("of", "role")
}
