"""What pip calls to make a wheel of this tree (PEP 517): CMake builds the package, and this packs it.

It needs nothing but Python, pybind11 and what the C++ library is built with: where these are installed, `pip install
--no-build-isolation .` works without a network. CMAKE_ARGS goes to CMake. TENURE_PYTHON_PACKAGE names a folder
`tenure` that is built already, as `./dev python` has it.
"""

import base64
import csv
import hashlib
import io
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def version():
    return re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]


def tag():
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{python}-{python}-{platform}"


def metadata():
    return f"""Metadata-Version: 2.1
Name: tenure
Version: {version()}
Summary: A tensor framework in which the lifetime of every byte is known
License: Apache-2.0
Requires-Python: >=3.9
"""


def build():
    """The folder of the package, built for this Python."""
    if given := os.environ.get("TENURE_PYTHON_PACKAGE"):
        return Path(given)
    folder = ROOT / "build" / f"wheel-{tag()}"
    subprocess.check_call([
        "cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_UNITY_BUILD=ON", "-DTENURE_BUILD_PYTHON=ON", f"-DTENURE_PYTHON={sys.executable}",
        "-DTENURE_BUILD_TESTS=OFF", "-DTENURE_BUILD_EXAMPLES=OFF", "-DTENURE_BUILD_BENCH=OFF",
        *shlex.split(os.environ.get("CMAKE_ARGS", "")),
    ])
    subprocess.check_call(["cmake", "--build", str(folder), "--target", "tenure_python_package"])
    return folder / "python" / "tenure"


def write_wheel(package, path):
    """A wheel is a zip with a list of its files and their hashes."""
    info = f"tenure-{version()}.dist-info"
    rows = io.StringIO()
    record = csv.writer(rows, lineterminator="\n")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:

        def add(name, content, mode=0o644):
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.writerow([name, f"sha256={digest}", len(content)])
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = mode << 16
            wheel.writestr(entry, content)

        for file in sorted(package.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                add(f"tenure/{file.relative_to(package)}", file.read_bytes(), file.stat().st_mode)
        add(f"{info}/METADATA", metadata().encode())
        add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: tenure\nRoot-Is-Purelib: false\nTag: {tag()}\n".encode())
        add(f"{info}/entry_points.txt", b"[console_scripts]\ntenure = tenure.__main__:main\n")
        record.writerow([f"{info}/RECORD", "", ""])
        wheel.writestr(f"{info}/RECORD", rows.getvalue())


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = f"tenure-{version()}-{tag()}.whl"
    write_wheel(build(), Path(wheel_directory) / name)
    return name


def build_sdist(sdist_directory, config_settings=None):
    name = f"tenure-{version()}"
    path = Path(sdist_directory) / f"{name}.tar.gz"
    subprocess.check_call(["git", "-C", str(ROOT), "archive", f"--prefix={name}/", "-o", str(path), "HEAD"])
    return path.name
