"""A wheel that brings the compiled core, where `ASSAY_WHEEL_CORE` asks for it.

`1` means every variant for this machine's architecture, `avx2,avx512` these. Without it the wheel is pure Python, and
the core is compiled at first use. See docs/core.md.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys
import sysconfig
import tempfile
import types
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ASKED = "ASSAY_WHEEL_CORE"


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
        for name in names:
            made = build.build_packaged(variants[name], Path(self.scratch.name))
            build_data["force_include"][str(made)] = str(inside / made.name)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self.scratch:
            self.scratch.cleanup()

    def _core_builder(self) -> types.ModuleType:
        """The module that compiles, without what `assay` itself imports: none of it is there when a wheel is built."""
        empty = types.ModuleType("assay")
        empty.__path__ = [str(Path(self.root) / "assay")]
        sys.modules["assay"] = empty
        return importlib.import_module("assay.engine.native.build")
