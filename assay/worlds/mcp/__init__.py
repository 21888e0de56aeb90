"""The tools of MCP servers: programs that are started here, or servers at an address.

What a server offers is asked when a run begins: names, descriptions and JSON schemas are its own.
"""

from assay.worlds.mcp.listing import Listing, listed
from assay.worlds.mcp.served_tools import mcp_tools, served

__all__ = ["Listing", "listed", "mcp_tools", "served"]
