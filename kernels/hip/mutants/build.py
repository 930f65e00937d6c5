#!/usr/bin/env python3
"""Builds the mutants of device code: kernels with one planted bug each.

mutants.toml says what is wrong with each and which edits of the sources make it so. An edit's text must occur exactly
once in the op's source and the headers. An edit under `assembly` is made in what the compiler makes of them, wherever its pattern
(a regular expression) occurs, which must be somewhere. The objects go into one file, objects.safetensors, a tensor of bytes per mutant, with the hash of
everything they were made from. Needs clang++-19 and lld-19.

  build.py          builds objects.safetensors
  build.py --check  fails if what it builds differs from the file that is there
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = sorted([*HERE.parent.glob("*.h"), *HERE.parent.glob("*.hip")])
# As in ../build.sh, without line tables: they would be most of the size.
FLAGS = (
    "-x hip --offload-arch=gfx942 --cuda-device-only --no-gpu-bundle-output -nogpulib -nogpuinc -std=c++17 -O3"
    " -ffp-contract=off -fhip-kernel-arg-name -fuse-cuid=none -Qn"
).split()


def build(mutant):
    own = f"{mutant['stem']}.hip"
    texts = {path.name: path.read_text() for path in SOURCES if path.suffix == ".h" or path.name == own}
    for edit in mutant.get("edits", []):
        holders = [name for name, text in texts.items() if edit["find"] in text]
        if edit.get("file"):
            holders = [name for name in holders if name == edit["file"]]
        if len(holders) != 1 or texts[holders[0]].count(edit["find"]) != 1:
            sys.exit(f"{mutant['name']}: {edit['find']!r} occurs in {holders or 'no file'}, want exactly once")
        texts[holders[0]] = texts[holders[0]].replace(edit["find"], edit["replace"])
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            (pathlib.Path(folder) / name).write_text(text)
        clang = os.environ.get("CLANG", "clang++-19")
        if "assembly" not in mutant:
            subprocess.run([clang, *FLAGS, "-o", "out.hsaco", own], cwd=folder, check=True)
            return (pathlib.Path(folder) / "out.hsaco").read_bytes()
        assembly = pathlib.Path(folder) / "out.s"
        subprocess.run([clang, *FLAGS, "-S", "-o", "out.s", own], cwd=folder, check=True)
        text = assembly.read_text()
        for edit in mutant["assembly"]:
            text, count = re.subn(edit["find"], edit["replace"], text)
            if count == 0:
                sys.exit(f"{mutant['name']}: {edit['find']!r} occurs nowhere in the assembly")
        assembly.write_text(text)
        assemble = [clang, "-x", "assembler", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx942", "-o", "out.hsaco", "out.s"]
        subprocess.run(assemble, cwd=folder, check=True)
        return (pathlib.Path(folder) / "out.hsaco").read_bytes()


def sources_hash(mutants):
    digest = hashlib.sha256(mutants)
    for path in SOURCES:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def main():
    table = (HERE / "mutants.toml").read_bytes()
    mutants = tomllib.loads(table.decode())["mutant"]
    names = [mutant["name"] for mutant in mutants]
    if len(set(names)) != len(names):
        sys.exit("two mutants have the same name")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = dict(zip(names, pool.map(build, mutants)))
    header, at = {"__metadata__": {"sources": sources_hash(table)}}, 0
    for name in sorted(objects):
        size = len(objects[name])
        header[name] = {"dtype": "U8", "shape": [size], "data_offsets": [at, at + size]}
        at += size
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    made = len(head).to_bytes(8, "little") + head + b"".join(objects[name] for name in sorted(objects))
    path = HERE / "objects.safetensors"
    if sys.argv[1:] == ["--check"]:
        if path.read_bytes() != made:
            sys.exit(f"{path.name} is not what the sources give: run build.py")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        path.write_bytes(made)
    print(f"{len(objects)} mutants, {len(made)} bytes")


main()
