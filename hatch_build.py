"""A wheel that brings the compiled core, where `ASSAY_WHEEL_CORE` asks for it.

`1` means every variant for this machine's architecture, `avx2,avx512` these. Without it the wheel is pure Python, and
the core is compiled at first use. The wheel's tag says which C library the core needs. See docs/core.md.
"""

from __future__ import annotations

import importlib
import os
import platform
import re
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ASKED = "ASSAY_WHEEL_CORE"


def platform_tag(libraries: list[bytes]) -> str:
    """The platforms on which all of these libraries load: with the C library whose newest symbols they name, or a newer
    one. Elsewhere an installer takes the source distribution.
    """
    versions = {tuple(map(int, found)) for file in libraries for found in re.findall(rb"\bGLIBC_(\d+)\.(\d+)\b", file)}
    if not versions:
        return f"linux_{platform.machine()}"
    major, minor = max(versions)
    return f"manylinux_{major}_{minor}_{platform.machine()}"


class CarryCore(BuildHookInterface):
    """Compiles variants for this machine's architecture, and puts them where `assay.engine.native.build` looks."""

    scratch: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        asked = os.environ.get(ASKED, "")
        if asked in ("", "0") or version == "editable":
            return
        if sys.platform != "linux":
            raise RuntimeError(f"{ASKED} makes wheels for Linux; elsewhere the core is compiled at first use")
        build = self._core_builder()
        variants = {v.name: v for v in build.VARIANTS if v.machine == platform.machine() and not v.emulated}
        names = list(variants) if asked == "1" else asked.split(",")
        if not names or not set(names) <= set(variants):
            known = ", ".join(variants) or "none"
            raise RuntimeError(f"{ASKED}={asked}: the variants for this machine ({platform.machine()}) are: {known}")
        self.scratch = tempfile.TemporaryDirectory()
        inside = build.BUILT.relative_to(self.root)
        made = [build.build_packaged(variants[name], Path(self.scratch.name)) for name in names]
        for path in made:
            build_data["force_include"][str(path)] = str(inside / path.name)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag([path.read_bytes() for path in made])}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self.scratch:
            self.scratch.cleanup()

    def _core_builder(self) -> types.ModuleType:
        """The module that compiles, without what `assay` itself imports: none of it is there when a wheel is built."""
        empty = types.ModuleType("assay")
        empty.__path__ = [str(Path(self.root) / "assay")]
        sys.modules["assay"] = empty
        return importlib.import_module("assay.engine.native.build")
