"""Metadata of the one distribution ``stepscope`` and the build of its web UI.

The plugin folders are source roots (``torch_plugin/stepscope_torch`` is the package ``stepscope_torch``).
The web UI is bundled when a checkout is installed (tools/web_ui.py); an sdist and a wheel carry it
built, so installing a release never needs Node. The scanner of Kineto traces and what training code runs
through in each step are C++ where a compiler is found; without one the same is done in Python.
"""

from __future__ import annotations

import os
import re
import runpy
import sys
import sysconfig
from pathlib import Path

from setuptools import Command, Extension, find_packages, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tools"))
import web_ui  # noqa: E402

PACKAGES = {
    "stepscope": "stepscope",
    "stepscope_torch": "torch_plugin/stepscope_torch",
    "stepscope_tf": "tf_plugin/stepscope_tf",
    "stepscope_tensorboard": "tb_plugin/stepscope_tensorboard",
    "stepscope_examples": "examples",  # what `stepscope demo` runs
}


def version() -> str:
    """``__version__`` of the package, read as text: importing it would need its dependencies."""
    text = (ROOT / "stepscope" / "__init__.py").read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if match is None:
        raise SystemExit('stepscope: stepscope/__init__.py must hold a line like __version__ = "1.2.3"')
    return match.group(1)


def subpackages(name: str, folder: str) -> list[str]:
    return [f"{name}.{package}" for package in find_packages(str(ROOT / folder))]


class BuildFrontend(Command):
    """Bundle the web UI into the plugin package unless it is up to date."""

    description = "build the web UI"
    user_options: list[tuple[str, str, str]] = []
    editable_mode = False
    build_lib: str | None = None

    def initialize_options(self) -> None:
        pass

    def finalize_options(self) -> None:
        pass

    def run(self) -> None:
        if web_ui.is_skipped():
            self.announce(f"{web_ui.SKIP_VARIABLE}=1: the web UI is not built", level=2)
            return
        try:
            web_ui.build()
        except web_ui.WebUiError as error:
            without = f"{web_ui.SKIP_VARIABLE}=1 in the environment installs stepscope without it"
            raise SystemExit(f"stepscope: the web UI cannot be built: {error}; {without}") from None

    # the rest of setuptools' SubCommand protocol

    def get_source_files(self) -> list[str]:
        return [str(path.relative_to(ROOT)) for path in web_ui.sources()]

    def get_outputs(self) -> list[str]:
        return []

    def get_output_mapping(self) -> dict[str, str]:
        return {}


class Build(build):
    # before build_py, which collects the static files
    sub_commands = [("build_frontend", None), *build.sub_commands]


class BuildExtension(build_ext):
    """Say what it means that an optional extension could not be built."""

    def run(self) -> None:
        super().run()
        missing = [ext.name for ext in self.extensions if not Path(self.get_ext_fullpath(ext.name)).is_file()]
        if missing:
            self.warn(
                f"{', '.join(missing)} was not built (no working C++ compiler?): "
                "the same is done in Python: PyTorch traces take about four times as long to read, "
                "recording a step costs more"
            )


class Sdist(sdist):
    def run(self) -> None:
        self.run_command("build_frontend")
        super().run()


digest = runpy.run_path(str(ROOT / "stepscope" / "built_from.py"))["digest"]


def extension(name: str, sources: list[str]) -> Extension:
    """An extension for any Python from 3.10 on (the stable ABI) but those without a GIL, which lack one."""
    folder = os.path.dirname(sources[0])
    macros = [("STEPSCOPE_SOURCES", f"{digest(ROOT / folder)}ULL")]
    return Extension(
        name,
        sources=sources,
        depends=[str(path.relative_to(ROOT)) for path in (ROOT / folder).glob("*.h")],
        language="c++",
        extra_compile_args=["/O2", "/std:c++14", "/EHsc"]
        if os.name == "nt"
        else ["-O3", "-g0", "-std=c++11", "-fvisibility=hidden"],
        define_macros=[*macros, *([("Py_LIMITED_API", "0x030A0000")] if HAS_GIL else [])],
        py_limited_api=HAS_GIL,
        optional=True,
    )


HAS_GIL = not sysconfig.get_config_var("Py_GIL_DISABLED")
EXTENSIONS = [
    extension(
        "stepscope.importers._kineto_scan",
        [f"stepscope/importers/native/{name}.cpp" for name in ("kineto_events", "module")],
    )
]
if HAS_GIL:  # what it does is indivisible by the GIL alone
    EXTENSIONS.append(
        extension(
            "stepscope._hot", [f"stepscope/native/{name}.cpp" for name in ("marks", "module", "planes", "regions")]
        )
    )
TORCH = ["torch>=2.4"]
TENSORFLOW = ["tensorflow>=2.16"]
TENSORBOARD = ["tensorboard>=2.16"]
TEST = [
    # what is integrated with, and Keras' third backend
    "accelerate>=1",
    "jax>=0.4.34",
    "lightning>=2.4",
    "transformers>=4.46",
    "hypothesis>=6",
    "mypy>=1.10",
    "playwright>=1.40",
    "pytest>=8",
    "pytest-xdist>=3.6",  # two cores run the tests in half the time of one; kept by pytest's own developers
    "ruff>=0.6",
    "setuptools>=68",  # builds the sdist and the wheel that tests look into
]

setup(
    name="stepscope",
    version=version(),
    description="A profiler for PyTorch and TensorFlow training that ends in TensorBoard",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
    python_requires=">=3.10",
    package_dir=PACKAGES,
    packages=[package for name, folder in PACKAGES.items() for package in (name, *subpackages(name, folder))],
    package_data={"": ["py.typed"], "stepscope_tensorboard": ["static/**/*", f"static/{web_ui.STAMP.name}"]},
    # light: this is what a training process installs
    install_requires=[
        "msgspec>=0.18",
        "numpy>=1.24",
        "nvidia-ml-py>=12",
        "psutil>=5.9",
        "pyarrow>=16",
        # gunzip five times as fast as zlib; without it (other machines) zlib is used
        'isal>=1.6; platform_machine in "x86_64 AMD64 aarch64 arm64"',
    ],
    extras_require={
        "torch": TORCH,
        "tensorflow": TENSORFLOW,
        "tensorboard": TENSORBOARD,
        "remote": ["fsspec"],
        "test": TEST,
        "all": TORCH + TENSORFLOW + TENSORBOARD,
    },
    ext_modules=EXTENSIONS,
    options={"bdist_wheel": {"py_limited_api": "cp310"}} if HAS_GIL else {},
    setup_requires=web_ui.build_requirements(),
    cmdclass={"build": Build, "build_ext": BuildExtension, "build_frontend": BuildFrontend, "sdist": Sdist},
    entry_points={
        "console_scripts": ["stepscope = stepscope.cli:main"],
        # what stepscope.smprof starts in a script of each framework: the core imports neither
        "stepscope.hooks": ["torch = stepscope_torch.drop_in:Hook", "tensorflow = stepscope_tf.drop_in:Hook"],
        "tensorboard_plugins": ["stepscope = stepscope_tensorboard.plugin:StepscopePlugin"],
    },
)
