"""What is installed works where it was put, without LD_LIBRARY_PATH."""

import json
import os
import pathlib
import subprocess

import pytest

from program import PAWL

BUILD = pathlib.Path(PAWL).resolve().parents[2]
CLEAN = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}

SOURCE = """
#include <pawl/net.h>
#include <pawl/pawl.h>
#include <stdio.h>
int main(void) { puts(pawl_version()); return pawl_url_is_private("http://localhost") ? 0 : 1; }
"""


def run(*command, **more):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, timeout=120,
                          env={**CLEAN, **more}).stdout


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    assert (BUILD / "build.ninja").exists(), "PAWL_BIN must be the program in a build directory"
    folder = tmp_path_factory.mktemp("root")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", folder], check=True, capture_output=True,
                   timeout=120)
    return folder


def sanitizers():
    """What the libraries were built with: a program on them needs the same."""
    options = json.loads(run("meson", "introspect", "--buildoptions", BUILD))
    chosen, = (option["value"] for option in options if option["name"] == "b_sanitize")
    return [] if chosen in ("none", "", []) else [f"-fsanitize={chosen if isinstance(chosen, str) else ','.join(chosen)}"]


def find(root, name):
    found, = (path for path in root.rglob(name) if not path.is_symlink())
    return found


def test_the_program_finds_its_libraries(root):
    program = find(root, "pawl") if not (root / "usr/local/bin/pawl").exists() else root / "usr/local/bin/pawl"
    assert "pawl 0" in run(program, "version")
    places = [line.split("=>")[1].split()[0] for line in run("ldd", program).splitlines() if "libpawl" in line]
    assert len(places) == 2 and all(os.path.realpath(place).startswith(str(root)) for place in places), places


def test_pkg_config_finds_what_a_program_is_built_with(root, tmp_path):
    (tmp_path / "main.c").write_text(SOURCE)
    folder = find(root, "pawl-net.pc").parent
    flags = run("pkg-config", "--define-prefix", "--cflags", "--libs", "pawl-net",
                PKG_CONFIG_PATH=folder).split()
    libraries = find(root, "libpawl.so.0.*").parent
    flags = [f"-I{root}/usr/local/include" if f.startswith("-I") else f"-L{libraries}" if f.startswith("-L") else f
             for f in flags]
    assert "-lpawl-net" in flags and "-lpawl" in flags
    run("cc", tmp_path / "main.c", "-o", tmp_path / "main", *sanitizers(), *flags, f"-Wl,-rpath,{libraries}")
    assert run(tmp_path / "main").startswith("0.")
