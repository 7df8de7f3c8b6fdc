"""Packs the files of a release as a Python wheel: wheel.py TREE VERSION TAG SUMMARY OUT_DIR. Prints its path."""

import base64
import hashlib
import os
import sys
import zipfile

tree, version, tag, summary, out = sys.argv[1:]
info = f"shopfloor-{version}.dist-info"
data = f"shopfloor-{version}.data"
path = os.path.join(out, f"shopfloor-{version}-py3-none-{tag}.whl")
files = {}
for top, _, names in os.walk(tree):
    for name in names:
        source = os.path.join(top, name)
        below = os.path.relpath(source, tree)
        # Scripts go to the directory of programs as they are, and data below the prefix.
        place = f"{data}/scripts/{name}" if below.startswith("bin/") else f"{data}/data/{below}"
        with open(source, "rb") as file:
            files[place] = (file.read(), 0o755 if below.startswith("bin/") else 0o644)
files[f"{data}/data/share/shopfloor/origin"] = (b"wheel\n", 0o644)
with open(os.path.join(tree, "share/doc/shopfloor/README.md"), encoding="utf-8") as file:
    readme = file.read()
files[f"{info}/METADATA"] = (
    "\n".join([
        "Metadata-Version: 2.1", "Name: shopfloor", f"Version: {version}", f"Summary: {summary}",
        "License: MIT OR Apache-2.0", "Requires-Python: >=3.8", "Description-Content-Type: text/markdown", "", readme,
    ]).encode(),
    0o644,
)
files[f"{info}/WHEEL"] = (
    f"Wheel-Version: 1.0\nGenerator: shopfloor\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n".encode(),
    0o644,
)
record = []
with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
    def add(name, content, mode):
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        wheel.writestr(entry, content)

    for name in sorted(files):
        content, mode = files[name]
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(content)}")
        add(name, content, mode)
    record.append(f"{info}/RECORD,,")
    add(f"{info}/RECORD", "\n".join(record) + "\n", 0o644)
print(path)
