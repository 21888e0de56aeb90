"""An MCP server as people write them, with the package `mcp`: python mcp_shop.py, or with a port as an HTTP server."""

from __future__ import annotations

import sys
from typing import Literal

from mcp.server import MCPServer
from mcp.types import ImageContent

SHOP = MCPServer("shop", version="1.2.3")
PRICES = {"tea": 3, "cake": 5}


@SHOP.tool()
def price(item: str, pieces: int = 1, currency: Literal["EUR", "USD"] = "EUR") -> str:
    """The price of some pieces."""
    if item not in PRICES:
        raise LookupError(f"there is no {item}")
    return f"{PRICES[item] * pieces} {currency}"


@SHOP.tool(name="stock-of")
def stock_of(items: list[str]) -> dict[str, int]:
    """How many there are."""
    return {item: len(item) for item in items}


@SHOP.tool()
def picture() -> ImageContent:
    """What the shop looks like."""
    return ImageContent(type="image", data="aGk=", mime_type="image/png")


if __name__ == "__main__":
    if sys.argv[1:]:
        SHOP.run("streamable-http", port=int(sys.argv[1]))
    else:
        SHOP.run("stdio")
