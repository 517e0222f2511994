#!/bin/sh
# A smoke test on every Python on this machine that pyproject.toml allows, from 3.11 on: the wheel, in a clean
# environment of its own. Those that are not there are skipped. Usage: tests/smoke/pythons.sh WHEEL_FOLDER PYTEST_FILES...
set -eu
unset PYTHONPATH
folder=$1
shift
mkdir -p "$folder"
python=${PYTHON:-python3}
rm -f "$folder"/*.whl
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$folder" .
wheel=$(ls "$folder"/*.whl)
ran=""
for version in 3.11 3.12 3.13 3.14 3.15; do
  found=""
  for candidate in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/$version.*/bin/python; do
    if "$candidate" -c "import sys; sys.exit(sys.version_info[:2] != tuple(map(int, '$version'.split('.'))))" 2>/dev/null; then
      found=$candidate
      break
    fi
  done
  if [ -z "$found" ]; then
    echo "Python $version: not here, skipped"
    continue
  fi
  home="$folder/$version"
  test -x "$home/bin/python" || "$found" -m venv "$home"
  "$home/bin/python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheel"
  "$home/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel" onnxruntime matplotlib hypothesis pytest pytest-xdist
  # The package of the wheel, not of this folder: `src` is on no path.
  "$home/bin/python" -m pytest -q -n 2 -p no:cacheprovider -m "not slow" "$@"
  "$home/bin/python" -c "import cpwl, sys; assert 'site-packages' in cpwl.__file__; print('Python', sys.version.split()[0], 'passed')"
  ran="$ran $version"
done
test -n "$ran"
echo "passed on:$ran"
