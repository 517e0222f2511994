#!/bin/sh
# Builds what a release consists of: wheel, sdist and the stand-alone checker in one file. Each is then used in an
# environment that has nothing else: the wheel and the sdist prove an example, the checker checks that proof again.
# Usage: PYTHON=python tests/smoke/release.sh FOLDER
set -eu
unset PYTHONPATH
python=$(cd "$(dirname "${PYTHON:-python3}")" 2>/dev/null && pwd)/$(basename "${PYTHON:-python3}")
test -x "$python" || python=$(command -v "${PYTHON:-python3}")
folder=$1
rm -rf "$folder"
mkdir -p "$folder"
"$python" -m build --outdir "$folder" .
"$python" -m cpwl_check.archive "$folder/cpwl_check.pyz"
version=$("$python" -c "import tomllib; print(tomllib.load(open('pyproject.toml', 'rb'))['project']['version'])")
folder=$(cd "$folder" && pwd)
bare=$(mktemp -d)
trap 'rm -rf "$bare"' EXIT
cp tests/smoke/law.json "$bare"
cd "$bare"
for file in "$folder/cpwl-$version-py3-none-any.whl" "$folder/cpwl-$version.tar.gz"; do
  rm -rf venv network.json network.proof.json
  "$python" -m venv venv
  venv/bin/python -m pip install --quiet --disable-pip-version-check "$file"
  test "$(venv/bin/cpwl --version)" = "cpwl $version"
  venv/bin/cpwl compile law.json -o network.json --certify
  venv/bin/cpwl check law.json network.json network.proof.json
  "$python" -I -S "$folder/cpwl_check.pyz" law.json network.json network.proof.json
  echo "$(basename "$file"): works alone"
done
ls -l "$folder"
